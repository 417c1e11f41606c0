/* SPDX-License-Identifier: Apache-2.0 */
/* What --dry-run prints. */
#ifndef LOCUS_DRY_RUN_H
#define LOCUS_DRY_RUN_H

#include <stdio.h>

#include "harness/plan/plan.h"

/* Prints the trials with their places and memory; `seconds`: the time that they would take. */
void plan_print(const struct plan *, const struct setting *, double seconds, FILE *);

#endif
