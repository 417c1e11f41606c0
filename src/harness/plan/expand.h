/* SPDX-License-Identifier: Apache-2.0 */
/* The product of the lists: each of their points becomes a trial. */
#ifndef LOCUS_EXPAND_H
#define LOCUS_EXPAND_H

#include "harness/plan/factors.h"
#include "harness/plan/planned.h"

/* Adds the trials of the variant whose lists these are. 0, or an exit status after a message. */
int expand(struct plan *, const struct factors *);

#endif
