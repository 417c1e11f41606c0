/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of the ladder (ladder.h): what threads share. */
#ifndef LOCUS_KMEANS_RUNG_H
#define LOCUS_KMEANS_RUNG_H

enum rung {
	RUNG_TWO_PHASES, /* 2p: first all points are assigned, then added to the sums */
	/* 2q: a point is added as soon as it is assigned; sums share a line with the mean */
	RUNG_ONE_PHASE,
	RUNG_ONE_PHASE_PADDED, /* the same, means and sums on different lines */
	/* 3p: each thread assigns and groups its own points; then the groups are added up */
	RUNG_THREE_PHASES,
	/* each thread has its own sums, interleaved with those of the others */
	RUNG_PRIVATE_DENSE,
	RUNG_PRIVATE_PADDED, /* the same, threads' sums on different lines */
	RUNGS
};

#endif
