/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "bench/kmeans/cluster.h"
#include "bench/kmeans/steps.h"

/* What happens to a point as soon as it is assigned. */
enum then { NOTHING, ADD_TOGETHER, ADD_APART, ADD_OWN, COUNT };

/* Resets the worker's own sums. Returns l. */
static struct ladder *reset_sums(struct ladder *l, unsigned worker)
{
	for (size_t c = 0; c < l->problem.k; c++)
		memset(l->sums + worker * l->block + c * l->entry, 0, ENTRY(l->problem.points.d));
	return l;
}

static struct ladder *reset_groups(struct ladder *l, unsigned worker)
{
	memset(l->own[worker].group, 0, (l->problem.k + 1) * sizeof(size_t));
	return l;
}

/*
 * Counting sort of the worker's points by cluster. Before, group[c + 1] is the number of c's
 * points; after, group[c] is where they end.
 */
static uint64_t put_in_order(struct ladder *l, unsigned worker, uint64_t changed)
{
	const size_t begin = begin_of(l, worker), end = end_of(l, worker);
	size_t *group = l->own[worker].group, *order = l->order + begin;

	for (size_t c = 0; c < l->problem.k; c++)
		group[c + 1] += group[c];
	for (size_t i = begin; i < end; i++)
		order[group[l->solution.label[i]]++] = i;
	return changed;
}

#define INLINE	   static inline __attribute__((always_inline))
#define REAL	   double
#define NAME(name) name##_double
#include "bench/kmeans/steps_loops.h"
#undef REAL
#undef NAME
#define REAL	   float
#define NAME(name) name##_float
#include "bench/kmeans/steps_loops.h"

const struct steps *steps_of(const struct problem *p, enum rung rung)
{
	if (p->points.real == REAL_FLOAT)
		return p->points.d == 2 ? &steps_of_2_float[rung] : &steps_float[rung];
	return p->points.d == 2 ? &steps_of_2_double[rung] : &steps_double[rung];
}

void steps_add_groups(const struct ladder *l, uint32_t c, double *sum, uint64_t *count)
{
	(l->problem.points.real == REAL_FLOAT ? add_groups_float : add_groups_double)(l, c, sum,
										      count);
}
