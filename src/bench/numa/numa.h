/* SPDX-License-Identifier: Apache-2.0 */
/* A trial of numa: its state, and the parts of its life. */
#ifndef LOCUS_NUMA_H
#define LOCUS_NUMA_H

#include "bench/numa/arrays.h"
#include "benchmark.h"

/* A worker's results of a sample. */
struct own {
	_Alignas(APART) double sum; /* over all passes */
	uint64_t passes, chunks;
	size_t wrong; /* first wrong element of its part; the part's end: none */
};

struct state {
	const struct kernel *kernel;
	stream *run;
	unsigned width;
	struct team *team;
	struct arrays arrays;
	double moving;	  /* s until the kernel moved the last page */
	struct own own[]; /* by worker */
};

/* Makes passes over a worker's part, as numa_work() does; returns the kernel's sum. */
double state_pass(const struct state *, unsigned worker, uint64_t passes);

/*
 * See struct ops. *_dealt: a dynamic schedule hands out chunks; otherwise each worker has a fixed
 * part.
 */
void numa_reset_dealt(void *state);
void numa_work_dealt(void *state, struct worker *);
void numa_work(void *state, struct worker *);
/* Whether sums, or stored elements, are right. */
const char *numa_verify(void *state, const struct trial *);

/*
 * Pages that the kernel's NUMA balancing moves to the node that uses them: it takes the mapping of
 * pages away now and then, sees by the faults who uses them, and migrates them in the background.
 */

/* Why balancing is unavailable (off, or not in this kernel); NULL: it is available. */
const char *balance_available(void);
/*
 * Uses the arrays until all pages are on their users' nodes, or until the kernel has moved none for
 * some seconds; sets `stuck` and `moving`. -1 with errno, or after arena_cannot().
 */
int balance_wait(struct state *, const struct trial *);

/*
 * The cost of first touch: a pass writes a word of each page, which the kernel has to find, zero
 * and map. Before each sample the pages are given back.
 */

/* Whether pages can be given back: false after arena_cannot(). */
bool touch_possible(struct state *, const struct trial *);
void touch_reset(void *state);
void touch_work(void *state, struct worker *self);
const char *touch_verify(void *state, const struct trial *);
/* Number of pages, of the requested size, that a pass faults in. */
double touch_pages(const struct state *);

#endif
