/* SPDX-License-Identifier: Apache-2.0 */
/* What a trial of numa holds. */
#ifndef LOCUS_NUMA_STATE_H
#define LOCUS_NUMA_STATE_H

#include "bench/numa/arrays.h"

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
	double moving;	  /* s until the kernel had moved the pages that it moved */
	struct own own[]; /* by worker */
};

/* Makes passes over a worker's part, as work() does; returns the kernel's sum. */
double state_pass(const struct state *, unsigned worker, uint64_t passes);

/* Whether sums, or stored elements, are right: struct ops' verify. */
const char *state_verify(void *state, const struct trial *);

#endif
