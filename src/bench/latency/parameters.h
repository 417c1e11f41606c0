/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of latency, and what its variants differ in. */
#ifndef LOCUS_LATENCY_PARAMETERS_H
#define LOCUS_LATENCY_PARAMETERS_H

#include <stdbool.h>

#include "bench/latency/chain.h"
#include "benchmark.h"

/* The parameters, and the choices of ELEMENT and STORES, in their order. */
enum { BYTES, PAGES, ELEMENT, STRIDE, CHAINS, LOADS, MIX, STORES, RATE, LOAD_BYTES, FROM, TO };
enum { POINTER, INT };
enum { STORES_NONTEMPORAL, STORES_CACHED };

/* The choices of MIX: lines read to lines written. */
#define MIX_CHOICES "read,3r1w,2r1w,1r1w,1r2w,1r3w,write"
enum { MIX_READ, MIX_3_1, MIX_2_1, MIX_1_1, MIX_1_2, MIX_1_3, MIX_WRITE };

/* Of 24 lines, those that are written. */
static inline unsigned mix_written(unsigned mix)
{
	static const unsigned written[] = {
		[MIX_READ] = 0, [MIX_3_1] = 6,	[MIX_2_1] = 8,	 [MIX_1_1] = 12,
		[MIX_1_2] = 16, [MIX_1_3] = 18, [MIX_WRITE] = 24
	};

	return written[mix];
}

/* What variants differ in. */
struct way {
	enum pattern pattern;
	bool loaded; /* other threads load memory meanwhile */
	bool placed; /* threads and memory on chosen nodes */
};

static inline const struct way *way_of(const struct trial *t)
{
	return t->variant->data;
}

#endif
