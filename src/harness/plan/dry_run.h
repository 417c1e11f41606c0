/* SPDX-License-Identifier: Apache-2.0 */
/* What --dry-run says. */
#ifndef LOCUS_DRY_RUN_H
#define LOCUS_DRY_RUN_H

#include <stdio.h>

#include "harness/plan/plan.h"

/* The trials with their places and memory, and the time that they would take: seconds. */
void plan_print(const struct plan *, const struct setting *, double seconds, FILE *);

#endif
