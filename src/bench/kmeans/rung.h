/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of the ladder (ladder.h): what threads share. */
#ifndef LOCUS_KMEANS_RUNG_H
#define LOCUS_KMEANS_RUNG_H

enum rung {
	TWO_PHASES, /* 2p: all points are assigned; then each is added */
	/*
	 * 2q: a point is added as soon as it is assigned, to the line that others read the mean of
	 */
	ONE_PHASE,
	ONE_PHASE_PADDED, /* the same, means and sums apart */
	/*
	 * 3p: each thread assigns and groups its own points; then clusters are made of the groups
	 */
	THREE_PHASES,
	/* each thread adds to sums of its own, which lie between those of others */
	PRIVATE_DENSE,
	PRIVATE_PADDED, /* the same, sums of different threads apart */
	RUNGS
};

#endif
