/* SPDX-License-Identifier: Apache-2.0 */
/* Which CPUs are ours, and what else runs on them. */
#ifndef LOCUS_DOCTOR_CPUS_H
#define LOCUS_DOCTOR_CPUS_H

#include "commands/doctor/finding.h"

void check_load(const struct patient *, struct finding *);
void check_cpus(const struct patient *, struct finding *);
void check_quota(const struct patient *, struct finding *);
void check_smt(const struct patient *, struct finding *);
void check_isolated(const struct patient *, struct finding *);
void check_mitigations(const struct patient *, struct finding *);

#endif
