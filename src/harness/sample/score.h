/* SPDX-License-Identifier: Apache-2.0 */
/* Scores a timed execution: a sample. */
#ifndef LOCUS_SCORE_H
#define LOCUS_SCORE_H

#include "harness/sample/series.h"

struct sample {
	double wall, time, skew; /* wall and skew: s; time: s per unit */
	double communicated;	 /* s; NAN: there are no ranks */
	/*
	 * units of this rank's workers of the first role together; in pairs, of the first worker
	 * of each
	 */
	double done;
	bool noisy;
};

/* Whose turn it is, where workers meet in pairs. */
struct turn {
	unsigned round, meeting;
	unsigned slot; /* the pair that plays; TURN_EVERY_SLOT: all pairs of the round */
};
#define TURN_EVERY_SLOT (~0u)

/* Scores all workers together, and adds what disturbed them to the noise. */
void score_all(struct series *, struct team *, struct noise *, struct sample *);
/*
 * Times each pair from when both workers have begun until both are done; the sample is the median
 * of the pairs. Adds their noise, too. `keep`: the series keeps the times of pairs.
 */
void score_pairs(struct series *, struct team *, struct turn, struct noise *, bool keep,
		 struct sample *);

#endif
