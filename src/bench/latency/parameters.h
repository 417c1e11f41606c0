/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of latency, and what its variants differ in. */
#ifndef LOCUS_LATENCY_PARAMETERS_H
#define LOCUS_LATENCY_PARAMETERS_H

#include <stdbool.h>

#include "bench/latency/chain.h"
#include "benchmark.h"

/* The parameters, and the choices of ELEMENT and MIX, in their order. */
enum { BYTES, PAGES, ELEMENT, STRIDE, CHAINS, LOADS, MIX, PAUSE, FROM, TO };
enum { POINTER, INT };
enum mix { MIX_READ, MIX_COPY, MIX_WRITE };

/* What variants differ in. */
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
