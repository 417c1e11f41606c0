/* SPDX-License-Identifier: Apache-2.0 */
/* Scores a timed execution: a sample. */
#ifndef LOCUS_SCORE_H
#define LOCUS_SCORE_H

#include "harness/sample/series.h"

struct sample {
	double wall, time, skew; /* s; s per unit; s */
	double communicated;	 /* s; NAN: there are no ranks */
	/*
	 * units of the workers of the first role together; of pairs, of the first of each: this
	 * rank's
	 */
	double done;
	bool noisy;
};

/* Whose turn it is, where workers meet in pairs. */
struct turn {
	unsigned round, meeting;
	unsigned slot; /* the pair that plays; TURN_EVERY_SLOT: each of the round */
};
#define TURN_EVERY_SLOT (~0u)

/* Of all workers at once. Adds what disturbed them to the noise. */
void score_all(struct series *, struct team *, struct noise *, struct sample *);
/*
 * What each pair took, from when both were there until both were done; the median of all, with its
 * noise, is the sample. `keep`: the series keeps what pairs took.
 */
void score_pairs(struct series *, struct team *, struct turn, struct noise *, bool keep,
		 struct sample *);

#endif
