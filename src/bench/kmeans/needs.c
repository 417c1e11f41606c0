/* SPDX-License-Identifier: Apache-2.0 */
#include <float.h>

#include "bench/kmeans/verify.h"
#include "bench/kmeans/ladder.h"
#include "bench/kmeans/lloyd.h"
#include "bench/kmeans/needs.h"
#include "bench/kmeans/parameters.h"
#include "kit/shares.h"
#include "machine/topology/topology.h"

enum { MOST_DIMENSIONS = 65536 };

/* Cluster numbers have 32 bits, also when rounded up to whole vectors. */
#define MOST_CLUSTERS UINT32_C(0xffff0000)

/* Why the parameters make no sense; NULL: they do. */
static const char *pointless(const struct trial *t)
{
	const double farthest = t->value[TYPE].choice == REAL_FLOAT ? (double)FLT_MAX : DBL_MAX;
	const uint64_t rows = t->value[ROWS].count, clusters = t->value[CLUSTERS].count;

	if (rows < ranks_of(t->ranks))
		return ranks_of(t->ranks) > 1 ? "--points: each rank needs at least one"
					      : "--points: at least one is needed";
	if (!t->value[DIMENSIONS].count || t->value[DIMENSIONS].count > MOST_DIMENSIONS)
		return "--dimensions: 1 to 65536";
	if (t->value[DATA].choice == SHAPE_BLOBS &&
	    !(farthest_of_blobs(t->value[SPREAD].real) <= farthest))
		return "--spread: blobs that wide overflow the type; choose a smaller spread";
	if (!clusters || clusters > rows)
		return "--clusters: at least one is needed, and no more than there are points";
	if (clusters > MOST_CLUSTERS)
		return "--clusters: more than 4294901760 can't be numbered; choose fewer";
	return NULL;
}

/* Memory left beside the points and the check; 0: no limit known. */
static size_t room_of(const struct trial *t, const struct problem *p)
{
	struct problem largest = *p; /* the largest share, so that all ranks choose alike */
	size_t beside;

	largest.points.n = share_size(p->all, 0, ranks_of(t->ranks));
	beside = points_bytes(&largest.points) + solution_verify_bytes(&largest);
	if (!t->memory)
		return 0;
	return t->memory > beside ? t->memory - beside : 1;
}

struct problem problem_of(const struct trial *t)
{
	struct problem p = {
		.points = { .real = (enum real)t->value[TYPE].choice,
			    .n = share_size(t->value[ROWS].count, rank_of(t->ranks),
					    ranks_of(t->ranks)),
			    .d = (unsigned)t->value[DIMENSIONS].count },
		.all = t->value[ROWS].count,
		.k = (unsigned)t->value[CLUSTERS].count,
		.iterations = t->value[ITERATIONS].count,
		.threads = t->threads,
		.team = t->team,
		.ranks = t->ranks,
		.huge = t->machine->huge_page,
	};

	p.room = room_of(t, &p);
	return p;
}

static size_t bytes_of(const struct trial *t)
{
	struct problem p = problem_of(t);
	const enum rung *rung = t->variant->data;
	double values;

	/* of the largest share, so that all ranks refuse alike */
	p.points.n = share_size(p.all, 0, ranks_of(t->ranks));
	values = ((double)p.points.n + (double)p.k * (p.threads + 1.0)) * (p.points.d + 64.0);
	if (values > 0x1p50) /* no machine has it, and products would overflow */
		return (size_t)1 << 60;
	return points_bytes(&p.points) + solution_verify_bytes(&p) +
	       (rung ? ladder_bytes(*rung, &p)
		     : lloyd_bytes(&p, (enum prune)t->value[PRUNE].choice));
}

struct needs kmeans_needs(const struct trial *t)
{
	const char *why = pointless(t);

	return why ? (struct needs){ .pointless = why } : (struct needs){ .bytes = bytes_of(t) };
}
