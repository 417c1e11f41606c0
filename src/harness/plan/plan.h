/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trials of a benchmark in a run: the product of all lists, each with its identity and its
 * places, in the groups in which they are sampled in turn.
 */
#ifndef LOCUS_PLAN_H
#define LOCUS_PLAN_H

#include "harness/plan/planned.h"

/*
 * 0, or the status to exit with after a message on stderr. A trial that is impossible on this
 * machine is planned, with its refusal.
 */
int plan_make(struct plan *, const struct benchmark *, const struct options *,
	      const struct setting *);
void plan_free(struct plan *);

/*
 * s that a tournament of pairs takes: in each turn a sample and the time to call the workers, which
 * is a guess: 20 us and 2 us a worker. 0: the trial has no tournament.
 */
double plan_tournament(const struct planned *);

#endif
