/* SPDX-License-Identifier: Apache-2.0 */
/* Which memory is ours, how much of it there is, and who moves its pages. */
#ifndef LOCUS_DOCTOR_MEMORY_H
#define LOCUS_DOCTOR_MEMORY_H

#include "commands/doctor/finding.h"

void check_nodes(const struct patient *, struct finding *);
void check_policy(const struct patient *, struct finding *);
void check_memory(const struct patient *, struct finding *);
void check_memory_limit(const struct patient *, struct finding *);
void check_balancing(const struct patient *, struct finding *);
void check_swap(const struct patient *, struct finding *);
void check_move_pages(const struct patient *, struct finding *);
void check_memlock(const struct patient *, struct finding *);

#endif
