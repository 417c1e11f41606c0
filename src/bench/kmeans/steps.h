/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of an iteration, for each rung of the ladder. */
#ifndef LOCUS_KMEANS_STEPS_H
#define LOCUS_KMEANS_STEPS_H

#include "bench/kmeans/ladder_state.h"

/*
 * An iteration is: assign, and a barrier; add, if there is one, and a barrier; then the means. A
 * step returns how many labels changed; add returns 0.
 */
typedef uint64_t step(struct ladder *, unsigned worker);
struct steps {
	step *assign, *add;
};

const struct steps *steps_of(const struct problem *, enum rung);

/* RUNG_THREE_PHASES: adds up all threads' groups of cluster c. */
void steps_add_groups(const struct ladder *, uint32_t c, double *sum, uint64_t *count);

#endif
