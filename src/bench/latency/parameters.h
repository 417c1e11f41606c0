/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of latency, and which trial is of which kind. */
#ifndef LOCUS_LATENCY_PARAMETERS_H
#define LOCUS_LATENCY_PARAMETERS_H

#include <stdbool.h>

#include "bench/latency/chain.h"
#include "benchmark.h"

/* The parameters; of those with choices, these in their order. */
enum { BYTES, PAGES, ELEMENT, STRIDE, CHAINS, LOADS, MIX, PAUSE, FROM, TO };
enum { POINTER, INT };
enum mix { MIX_READ, MIX_COPY, MIX_WRITE };

/* What makes a variant. */
struct way {
	enum pattern pattern;
	bool loaded; /* other threads load memory meanwhile */
	bool matrix; /* thread and memory on chosen nodes */
};

static inline const struct way *way_of(const struct trial *t)
{
	return t->variant->data;
}

#endif
