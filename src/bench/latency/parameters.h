/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of latency, and which trial is of which kind. */
#ifndef LOCUS_LATENCY_PARAMETERS_H
#define LOCUS_LATENCY_PARAMETERS_H

#include <stdbool.h>

#include "benchmark.h"

/* The parameters; of those with choices, these in their order. */
enum { BYTES, PAGES, ELEMENT, STRIDE, CHAINS, LOADS, MIX, PAUSE, FROM, TO };
enum { POINTER, INT };
enum mix { READ, COPY, WRITE };

/* Parameters of some variants only. */
enum { LOADED_ONLY = BIT(MIX) | BIT(PAUSE), MATRIX_ONLY = BIT(FROM) | BIT(TO) };

static inline bool is_matrix(const struct trial *t)
{
	return !(t->variant->unused & MATRIX_ONLY);
}

static inline bool is_loaded(const struct trial *t)
{
	return !(t->variant->unused & LOADED_ONLY);
}

#endif
