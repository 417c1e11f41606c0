/* SPDX-License-Identifier: Apache-2.0 */
/* Which huge pages can be had. */
#ifndef LOCUS_DOCTOR_PAGES_H
#define LOCUS_DOCTOR_PAGES_H

#include "commands/doctor/finding.h"

void check_thp(const struct patient *, struct finding *);
void check_huge_pages(const struct patient *, struct finding *);

#endif
