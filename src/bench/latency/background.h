/* SPDX-License-Identifier: Apache-2.0 */
/* A background thread, which streams through its own lines repeatedly. */
#ifndef LOCUS_LATENCY_BACKGROUND_H
#define LOCUS_LATENCY_BACKGROUND_H

#include "bench/latency/parameters.h"

struct background {
	_Alignas(APART) char *lines;
	size_t bytes, line; /* of all lines; of one */
	size_t at;	    /* offset of the next line */
	enum mix mix;
	uint64_t pause; /* turns of an empty loop after each block of lines */
};

/* Maps the lines of a worker, untouched. -1 with errno as region_map(). */
int background_map(struct background *, const struct trial *, unsigned worker, size_t bytes);
/*
 * Streams until the time is up, at least through 16 lines; units are lines read and lines written.
 */
void background_work(struct background *, struct worker *);

#endif
