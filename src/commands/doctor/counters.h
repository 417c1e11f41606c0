/* SPDX-License-Identifier: Apache-2.0 */
/* What can be counted beside the times, without LIKWID (likwid.h). */
#ifndef LOCUS_DOCTOR_COUNTERS_H
#define LOCUS_DOCTOR_COUNTERS_H

#include "commands/doctor/finding.h"

void check_schedstat(const struct patient *, struct finding *);
void check_paranoid(const struct patient *, struct finding *);
void check_watchdog(const struct patient *, struct finding *);
void check_pmu(const struct patient *, struct finding *);
void check_software(const struct patient *, struct finding *);
void check_papi(const struct patient *, struct finding *);

#endif
