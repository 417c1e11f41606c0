/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who works beside a trial, on CPUs that share with it what it uses: the cores of its threads, and,
 * if its lines don't fit into their L2, the memory of their nodes and the caches before it. Such
 * neighbours slow it down, and take no CPU time from it.
 */
#ifndef LOCUS_BESIDE_H
#define LOCUS_BESIDE_H

#include <stdbool.h>

struct planned;

struct beside {
	int *cpu; /* that share it, and are not the trial's, ascending; NULL: none is watched */
	unsigned cpus;
	bool memory; /* it is memory that they share: the probe looks at it after each batch */
	void *lines; /* the probe's (probe.h); NULL: none yet, or none here */
	double spent; /* s: in looking */
	/*
	 * s per line of memory while its neighbours rest, by CPU of the machine; 0: the run has not
	 * seen it yet. NULL: nobody remembers it.
	 */
	double *quiet;
};

/*
 * Ranks watch nobody, since their neighbours are other ranks; nor do threads that float, since
 * nobody knows where. 0, or -1 where there is no memory for it.
 */
int beside_open(struct beside *, const struct planned *);
void beside_close(struct beside *);

/* s per line of memory at this moment, read by worker 0; 0: it is not watched, or can't be. */
double beside_look(struct beside *);

#endif
