/* SPDX-License-Identifier: Apache-2.0 */
/* What the rungs of the ladder do in an iteration. */
#ifndef LOCUS_KMEANS_STEPS_H
#define LOCUS_KMEANS_STEPS_H

#include "bench/kmeans/ladder_state.h"

/*
 * An iteration: assign; where there is a second phase, all meet, and add; all meet, and make means.
 */
typedef uint64_t step(struct ladder *, unsigned worker);
struct steps {
	step *assign, *add;
};

const struct steps *steps_of(const struct problem *, enum rung);

/* THREE_PHASES: adds up what all threads have grouped under cluster c. */
void steps_add_groups(const struct ladder *, uint32_t c, double *sum, uint64_t *count);

#endif
