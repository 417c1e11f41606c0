/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who works beside a trial, on CPUs that share with it what it uses: the cores of its threads; if
 * its lines don't fit into their L2, their L3; if they don't fit into that either, the memory of
 * their nodes. Such neighbours slow it down, and take no CPU time from it.
 */
#ifndef LOCUS_NEIGHBOURS_H
#define LOCUS_NEIGHBOURS_H

#include <stddef.h>

struct planned;

/* Where the trial's lines are, and what it shares there. */
enum neighbours_level { NEIGHBOURS_CORE, NEIGHBOURS_L3, NEIGHBOURS_MEMORY };

/*
 * bytes of L3 that a CPU is taken to have at most. Few processors have more, but a guest is told
 * the whole L3 of its host, most of which other guests fill.
 */
#define NEIGHBOURS_L3_CPU ((size_t)16 << 20)

/* s per line at this moment; 0: unknown */
struct neighbours_look {
	double line;   /* of the trial's level */
	double memory; /* of L3's lines, flushed */
};

struct neighbours {
	int *cpu; /* that share it, and are not the trial's, ascending; NULL: none is watched */
	unsigned cpus;
	enum neighbours_level level; /* beyond the core, a probe looks at it after each batch */
	void *lines;		     /* the probe's (probe.h); NULL: none yet, or none here */
	double spent;		     /* s: in looking */
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
int neighbours_open(struct neighbours *, const struct planned *);
void neighbours_close(struct neighbours *);

/* Worker 0, before and after a batch. Nothing is known where nothing is watched, or can be. */
void neighbours_ready(struct neighbours *);
struct neighbours_look neighbours_look(struct neighbours *);

#endif
