/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Neighbours of a trial: CPUs that share with it what it uses. These are the cores of its threads;
 * if its lines don't fit into their L2, the L3; if they don't fit into L3 either, the memory of
 * the nodes. Work there slows the trial down, although it takes no CPU time from it.
 */
#ifndef LOCUS_NEIGHBOURS_H
#define LOCUS_NEIGHBOURS_H

#include <stddef.h>

struct planned;

/* Where the trial's lines are, and what it shares there. */
enum neighbours_level { NEIGHBOURS_CORE, NEIGHBOURS_L3, NEIGHBOURS_MEMORY };

/*
 * Bytes of L3 that a CPU is assumed to have at most. Few processors have more, but a guest sees the
 * whole L3 of its host, most of which other guests fill.
 */
#define NEIGHBOURS_L3_CPU ((size_t)16 << 20)

/* s per line at this moment; 0: unknown */
struct neighbours_look {
	double line;   /* of the trial's level */
	double memory; /* time of L3's lines after a flush */
};

struct neighbours {
	int *cpu; /* that share it, without the trial's own, ascending; NULL: none is watched */
	unsigned cpus;
	enum neighbours_level level; /* beyond the core, a probe looks at it after each batch */
	void *lines;		     /* the probe's (probe.h); NULL: none yet, or none here */
	double spent;		     /* s spent on looks */
	/*
	 * s per line of memory while neighbours rest, by CPU of the machine; 0: not seen by the
	 * run yet. NULL: it is not kept.
	 */
	double *quiet;
};

/*
 * Nobody is watched beside ranks, since their neighbours are other ranks, nor beside threads that
 * float, whose CPUs are not known. 0, or -1: no memory.
 */
int neighbours_open(struct neighbours *, const struct planned *);
void neighbours_close(struct neighbours *);

/* Called before a batch, and after it, by worker 0. A look is 0 where nothing can be probed. */
void neighbours_ready(struct neighbours *);
struct neighbours_look neighbours_look(struct neighbours *);

#endif
