/* SPDX-License-Identifier: Apache-2.0 */
/* What --dry-run prints. */
#ifndef LOCUS_DRY_RUN_H
#define LOCUS_DRY_RUN_H

#include <stdio.h>

#include "harness/plan/plan.h"
#include "harness/plan/plans.h"

/*
 * Prints the trials with their places and memory; `seconds`: the time that they would take, NAN to
 * leave it out.
 */
void plan_print(const struct plan *, const struct setting *, double seconds, FILE *);
/* The same of all plans; of several, the time at the end: it is that of the whole command. */
void plans_print(const struct plans *, const struct setting *, double seconds, FILE *);

#endif
