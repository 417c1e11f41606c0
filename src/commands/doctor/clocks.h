/* SPDX-License-Identifier: Apache-2.0 */
/* What makes times vary: the CPUs' frequency, the clock, a host that shares its CPUs. */
#ifndef LOCUS_DOCTOR_CLOCKS_H
#define LOCUS_DOCTOR_CLOCKS_H

#include "commands/doctor/finding.h"

void check_governor(const struct patient *, struct finding *);
void check_turbo(const struct patient *, struct finding *);
void check_clock_source(const struct patient *, struct finding *);
void check_virtual(const struct patient *, struct finding *);

#endif
