/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "bench/kmeans/cluster.h"
#include "bench/kmeans/ladder_state.h"
#include "machine/threads/team.h"

/* Bytes of each region; 0: the rung does not use it. */
struct sizes {
	size_t label, order, clusters, sums, desk; /* desk: of each worker */
};

static struct sizes sizes_of(const struct ladder *l)
{
	const struct problem *p = &l->problem;
	const bool grouped = l->rung == RUNG_THREE_PHASES,
		   own = l->rung == RUNG_PRIVATE_DENSE || l->rung == RUNG_PRIVATE_PADDED;

	return (struct sizes){
		.label = p->points.n * sizeof(uint32_t),
		.order = grouped ? p->points.n * sizeof(size_t) : 0,
		.clusters = p->k * l->stride,
		.sums = own ? p->threads * round_up(p->k * ENTRY(p->points.d), APART) : 0,
		.desk = round_up(p->points.d * sizeof(double) +
					 (grouped ? p->k + (size_t)1 : 0) * sizeof(size_t),
				 APART)
	};
}

static void lay_out(struct ladder *l)
{
	const unsigned d = l->problem.points.d;
	const size_t real = real_bytes(l->problem.points.real);

	l->apart = l->rung == RUNG_ONE_PHASE_PADDED;
	l->stride = l->rung < RUNG_THREE_PHASES ? STRIDE(d, real, l->apart) : d * real;
	l->entry = ENTRY(d) * (l->rung == RUNG_PRIVATE_DENSE ? l->problem.threads : 1);
	l->block =
		l->rung == RUNG_PRIVATE_DENSE ? ENTRY(d) : round_up(l->problem.k * ENTRY(d), APART);
}

static int node_of(const struct ladder *l, unsigned worker)
{
	return team_worker(l->problem.team, worker)->place.node;
}

static void *map(struct arena *arena, const char *name, size_t bytes, struct region **region)
{
	*region = region_map(arena, name, bytes ? bytes : 1, PAGES_BASE);
	return *region ? region_base(*region) : NULL;
}

/* Maps memory on the node of worker 0, which touches it first. */
static void *map_shared(const struct ladder *l, struct arena *arena, const char *name, size_t bytes)
{
	struct region *region;
	void *base = map(arena, name, bytes, &region);

	if (base)
		region_home(region, 0, bytes, node_of(l, 0));
	return base;
}

/* Maps memory with a part on each worker's node: `each` bytes per worker, or per point. */
static void *map_apart(const struct ladder *l, struct arena *arena, const char *name, size_t each,
		       bool by_points)
{
	const unsigned threads = l->problem.threads;
	struct region *region;
	void *base = map(arena, name, each * (by_points ? l->problem.points.n : threads), &region);

	for (unsigned i = 0; base && i < threads; i++) {
		const size_t from = each * (by_points ? begin_of(l, i) : i),
			     to = each * (by_points ? end_of(l, i) : i + 1);

		region_home(region, from, to - from, node_of(l, i));
		region_user(region, from, to - from, node_of(l, i));
	}
	return base;
}

static int allocate(struct ladder *l, struct arena *arena)
{
	const struct sizes sizes = sizes_of(l);
	const size_t values = (size_t)l->problem.k * l->problem.points.d;
	unsigned char *desk =
		map_apart(l, arena, "scratch of each thread", sizes.desk, false);

	l->own = apart_alloc(l->problem.threads * sizeof(*l->own));
	l->solution.label = map_apart(l, arena, "labels", sizeof(uint32_t), true);
	l->clusters = map_shared(l, arena, "clusters", sizes.clusters);
	l->solution.from = calloc(values, sizeof(double));
	l->solution.centre = calloc(values, sizeof(double));
	l->solution.count = calloc(l->problem.k, sizeof(uint64_t));
	if (sizes.order)
		l->order = map_apart(l, arena, "grouped points", sizeof(size_t), true);
	if (l->rung == RUNG_PRIVATE_DENSE)
		l->sums = map_shared(l, arena, "sums, packed", sizes.sums);
	else if (sizes.sums)
		l->sums = map_apart(l, arena, "sums, apart", l->block, false);
	if (!desk || !l->own || !l->solution.label || !l->clusters || !l->solution.from ||
	    !l->solution.centre || !l->solution.count || (sizes.order && !l->order) ||
	    (sizes.sums && !l->sums))
		return -1;
	for (unsigned i = 0; i < l->problem.threads; i++)
		l->own[i] =
			(struct own){ .sum = (double *)(desk + i * sizes.desk),
				      .group = (size_t *)(desk + i * sizes.desk +
							  l->problem.points.d * sizeof(double)) };
	return 0;
}

int ladder_state_open(struct ladder *l, const struct problem *p, enum rung rung,
		      struct arena *arena)
{
	l->problem = *p;
	l->rung = rung;
	lay_out(l);
	return allocate(l, arena);
}

void ladder_state_close(struct ladder *l)
{
	free(l->own);
	free(l->solution.from);
	free(l->solution.centre);
	free(l->solution.count);
}

void ladder_state_enter(struct ladder *l, unsigned worker)
{
	const struct sizes sizes = sizes_of(l);
	const size_t begin = begin_of(l, worker), points = end_of(l, worker) - begin;

	memset(l->own[worker].sum, 0, sizes.desk);
	memset(l->solution.label + begin, 0, points * sizeof(*l->solution.label));
	if (sizes.order)
		memset(l->order + begin, 0, points * sizeof(*l->order));
	if (l->rung == RUNG_PRIVATE_PADDED)
		memset(l->sums + worker * l->block, 0, l->block);
	if (worker)
		return;
	memset(l->clusters, 0, sizes.clusters);
	if (l->rung == RUNG_PRIVATE_DENSE)
		memset(l->sums, 0, sizes.sums);
}

size_t ladder_state_bytes(enum rung rung, const struct problem *p)
{
	const size_t centres = (size_t)p->k * p->points.d;
	struct ladder l = { .problem = *p, .rung = rung };
	struct sizes sizes;

	lay_out(&l);
	sizes = sizes_of(&l);
	return sizes.label + sizes.order + sizes.clusters + sizes.sums + p->threads * sizes.desk +
	       sizeof(double) * (2 * centres + p->k);
}
