/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/apart.h"
#include "base/arithmetic.h"
#include "bench/kmeans/ladder.h"
#include "kit/shares.h"

/* Written by one worker only. */
struct own {
	_Alignas(APART) uint64_t changed;
	double *sum; /* d sums of the current cluster */
	/* k + 1 ends: where each cluster's points end in the worker's share of the order */
	size_t *group;
};

struct ladder {
	struct problem problem;
	enum rung rung;
	bool apart; /* means and sums on different lines */
	/* bytes: between clusters, between a thread's own sums, between threads' sums */
	size_t stride, entry, block;
	unsigned char *clusters, *sums;
	size_t *order; /* RUNG_THREE_PHASES: points by worker, then by cluster */
	struct solution solution;
	struct own *own;
};

static inline size_t begin_of(const struct ladder *l, unsigned worker)
{
	return share_begin(l->problem.points.n, worker, l->problem.threads);
}

static inline size_t end_of(const struct ladder *l, unsigned worker)
{
	return begin_of(l, worker + 1);
}

/* ---- memory ---- */

/* Bytes of each region; 0: the rung does not use it. */
struct sizes {
	size_t label, order, clusters, sums, desk; /* desk: one for each worker */
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
	unsigned char *desk = map_apart(l, arena, "scratch of each thread", sizes.desk, false);

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

struct ladder *ladder_open(const struct problem *problem, enum rung rung, struct arena *arena)
{
	struct ladder *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->problem = *problem;
	l->rung = rung;
	lay_out(l);
	if (!allocate(l, arena))
		return l;
	ladder_close(l);
	errno = ENOMEM;
	return NULL;
}

void ladder_close(struct ladder *l)
{
	if (!l)
		return;
	free(l->own);
	free(l->solution.from);
	free(l->solution.centre);
	free(l->solution.count);
	free(l);
}

void ladder_enter(struct ladder *l, struct worker *self)
{
	const unsigned worker = self->index;
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

size_t ladder_bytes(enum rung rung, const struct problem *p)
{
	const size_t centres = (size_t)p->k * p->points.d;
	struct ladder l = { .problem = *p, .rung = rung };
	struct sizes sizes;

	lay_out(&l);
	sizes = sizes_of(&l);
	return sizes.label + sizes.order + sizes.clusters + sizes.sums + p->threads * sizes.desk +
	       sizeof(double) * (2 * centres + p->k);
}

/* ---- the steps of an iteration ---- */

/*
 * An iteration is assign, add and the means, each followed by a barrier; some rungs have no add. A
 * step returns how many labels changed; add returns 0.
 */
typedef uint64_t step(struct ladder *, unsigned worker);
struct steps {
	step *assign, *add;
};

/* What an iteration does with a point once it is assigned. */
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
 * points; after, group[c] is their end.
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

static const struct steps *steps_of(const struct problem *p, enum rung rung)
{
	if (p->points.real == REAL_FLOAT)
		return p->points.d == 2 ? &steps_of_2_float[rung] : &steps_float[rung];
	return p->points.d == 2 ? &steps_of_2_double[rung] : &steps_double[rung];
}

/* RUNG_THREE_PHASES: adds up all threads' groups of cluster c. */
static void add_groups(const struct ladder *l, uint32_t c, double *sum, uint64_t *count)
{
	(l->problem.points.real == REAL_FLOAT ? add_groups_float : add_groups_double)(l, c, sum,
										      count);
}

/* ---- the iterations ---- */

/* Adds up a cluster's sums and count; resets them where threads share them. */
static void gather(const struct ladder *l, uint32_t c, double *sum, uint64_t *count)
{
	const unsigned d = l->problem.points.d;
	unsigned char *cluster = l->clusters + c * l->stride, *shared;

	memset(sum, 0, d * sizeof(*sum));
	*count = 0;
	switch (l->rung) {
	case RUNG_THREE_PHASES:
		add_groups(l, c, sum, count);
		return;
	case RUNG_PRIVATE_DENSE:
	case RUNG_PRIVATE_PADDED:
		for (unsigned worker = 0; worker < l->problem.threads; worker++) {
			const double *own =
				(const double *)(l->sums + worker * l->block + c * l->entry);

			for (unsigned j = 0; j < d; j++)
				sum[j] += own[j];
			*count += *(const uint64_t *)(own + d);
		}
		return;
	default:
		shared = cluster + SUM_AT(d, real_bytes(l->problem.points.real), l->apart);
		memcpy(sum, shared, d * sizeof(*sum));
		memcpy(count, shared + d * sizeof(*sum), sizeof(*count));
		memset(shared, 0, ENTRY(d));
	}
}

static void set_mean(const struct ladder *l, uint32_t c, const double *mean)
{
	for (unsigned j = 0; j < l->problem.points.d; j++)
		real_set(l->problem.points.real, l->clusters + c * l->stride, j, mean[j]);
}

static void get_mean(const struct ladder *l, uint32_t c, double *mean)
{
	const unsigned char *from = l->clusters + c * l->stride;

	for (unsigned j = 0; j < l->problem.points.d; j++)
		mean[j] = real_get(l->problem.points.real, from, j);
}

/* Moves the worker's share of the centres to the means of their points. */
static void make_means(struct ladder *l, unsigned worker, bool last)
{
	const unsigned d = l->problem.points.d, threads = l->problem.threads;
	double *sum = l->own[worker].sum;
	uint64_t count;

	for (uint32_t c = (uint32_t)share_begin(l->problem.k, worker, threads);
	     c < share_begin(l->problem.k, worker + 1, threads); c++) {
		gather(l, c, sum, &count);
		if (last)
			get_mean(l, c, l->solution.from + (size_t)c * d);
		for (unsigned j = 0; j < d && count; j++)
			sum[j] /= (double)count;
		if (count)
			set_mean(l, c, sum);
		if (!last)
			continue;
		get_mean(l, c, l->solution.centre + (size_t)c * d);
		l->solution.count[c] = count;
	}
}

/* Clears the worker's labels, and sets its share of the centres to the start centres. */
static void begin(struct ladder *l, unsigned worker)
{
	const unsigned threads = l->problem.threads, d = l->problem.points.d;
	double *sum = l->own[worker].sum;

	for (size_t i = begin_of(l, worker); i < end_of(l, worker); i++)
		l->solution.label[i] = UINT32_MAX;
	for (uint32_t c = (uint32_t)share_begin(l->problem.k, worker, threads);
	     c < share_begin(l->problem.k, worker + 1, threads); c++) {
		for (unsigned j = 0; j < d; j++)
			sum[j] = real_get(l->problem.points.real, l->problem.start,
					  (size_t)c * d + j);
		set_mean(l, c, sum);
	}
}

static uint64_t changed(const struct ladder *l)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < l->problem.threads; i++)
		sum += l->own[i].changed;
	return sum;
}

void ladder_work(struct ladder *l, struct worker *self)
{
	const struct steps *steps = steps_of(&l->problem, l->rung);
	struct own *own = &l->own[self->index];
	uint64_t iteration = 0;
	bool last;

	begin(l, self->index);
	team_barrier(l->problem.team);
	do {
		own->changed = steps->assign(l, self->index);
		team_barrier(l->problem.team);
		if (steps->add) {
			steps->add(l, self->index);
			team_barrier(l->problem.team);
		}
		iteration++;
		last = problem_is_solved(&l->problem, iteration, changed(l));
		make_means(l, self->index, last);
		team_barrier(l->problem.team);
	} while (!last);
	if (self->index == 0) {
		l->solution.iterations = iteration;
		l->solution.distances = iteration * l->problem.points.n * l->problem.k;
	}
	self->done = iteration;
}

const struct solution *ladder_solution(const struct ladder *l)
{
	return &l->solution;
}
