/* SPDX-License-Identifier: Apache-2.0 */
/* Problems of all kinds, solved by a whole clustering or by one method alone. */
#ifndef LOCUS_TEST_LLOYD_H
#define LOCUS_TEST_LLOYD_H

#include <errno.h>
#include <float.h>
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/arithmetic.h"
#include "cases.h"
#include "kit/random.h"
#include "machine/threads/team.h"
#include "solve/kmeans/nearest.h"
#include "solve/kmeans/workspace.h"

enum { MOST_THREADS = 5, CASES = 60 };

/* A stream of random numbers. */
struct dice {
	uint64_t seed, n;
};

static inline uint64_t draw(struct dice *dice)
{
	return random_mix(random_mix(dice->seed + 1) ^ random_mix(++dice->n));
}

static inline unsigned below(struct dice *dice, unsigned end)
{
	return (unsigned)(draw(dice) % end);
}

static inline double uniform(struct dice *dice)
{
	return (double)(draw(dice) >> 11) * 0x1p-53;
}

/* A problem and all its data. */
struct given {
	struct problem problem;
	double *x, *start; /* the values, rounded to the points' type */
	const char *kind;
	uint64_t seed;
};

static inline void *typed(double *values, size_t n, enum real real)
{
	float *narrow;

	if (real == REAL_DOUBLE)
		return values;
	narrow = malloc(n * sizeof(*narrow) + 1);
	assert_non_null(narrow);
	for (size_t i = 0; i < n; i++) {
		narrow[i] = (float)values[i];
		values[i] = (double)narrow[i];
	}
	return narrow;
}

/* Turns values into a problem, which then owns them. */
static inline struct given problem_of(enum real real, size_t n, unsigned d, unsigned k, double *x,
				      double *start)
{
	struct given g = { .x = x, .start = start, .kind = "other" };

	g.problem = (struct problem){ .points = { real, n, d, typed(x, n * d, real) },
				      .all = n,
				      .k = k,
				      .start = typed(start, (size_t)k * d, real) };
	return g;
}

static inline void forget(struct given *g)
{
	if (g->problem.points.x != g->x) {
		free(g->problem.points.x);
		free((void *)g->problem.start);
	}
	free(g->x);
	free(g->start);
}

/* Value j of point i, for a kind of data. */
static inline double unit(struct dice *dice, size_t i, unsigned j)
{
	(void)i, (void)j;
	return uniform(dice);
}

static inline double few_distinct(struct dice *dice, size_t i, unsigned j)
{
	(void)i, (void)j;
	return (double)below(dice, 2);
}

/* Sums of squares are exact: many scores are equal, and the first centre must win. */
static inline double grid(struct dice *dice, size_t i, unsigned j)
{
	(void)i, (void)j;
	return (double)below(dice, 7) - 3;
}

static inline double collinear(struct dice *dice, size_t i, unsigned j)
{
	(void)dice;
	return (double)((i * 2654435761) % 1024) * (j + 1);
}

static inline double one_point(struct dice *dice, size_t i, unsigned j)
{
	(void)dice, (void)i;
	return 0.1 * (j + 1);
}

static inline double clustered(struct dice *dice, size_t i, unsigned j)
{
	return (double)(random_mix(i % 9 * 64 + j + 1) % 20) + uniform(dice);
}

static inline double far_away(struct dice *dice, size_t i, unsigned j)
{
	return 1e6 + clustered(dice, i, j);
}

static inline double of_all_sizes(struct dice *dice, size_t i, unsigned j)
{
	(void)i;
	return ldexp(uniform(dice) - 0.5, (int)(j % 5) * 12 - 24);
}

/* Values whose squares overflow a float. */
static inline double huge(struct dice *dice, size_t i, unsigned j)
{
	return 1e37 * clustered(dice, i, j);
}

static inline double tiny(struct dice *dice, size_t i, unsigned j)
{
	return 1e-36 * clustered(dice, i, j);
}

static const struct {
	const char *name;
	double (*value)(struct dice *, size_t i, unsigned j);
} kinds[] = {
	{ "uniform", unit },	    { "few distinct", few_distinct }, { "grid", grid },
	{ "collinear", collinear }, { "one point", one_point },	      { "clustered", clustered },
	{ "far away", far_away },   { "of all sizes", of_all_sizes }, { "huge", huge },
	{ "tiny", tiny },
};

/* Some centres are points, perhaps the same point twice; some lie far from all points. */
static inline struct given random_problem(uint64_t seed)
{
	struct dice dice = { seed, 0 };
	const unsigned kind = (unsigned)(seed % LENGTH(kinds)),
		       d = below(&dice, 4) ? 1 + below(&dice, 9) : 1 + below(&dice, 40);
	const size_t n = below(&dice, 8) ? 1 + below(&dice, 300) : 1 + below(&dice, 9);
	const unsigned most = n < 70 ? (unsigned)n : 70,
		       k = below(&dice, 8) ? 1 + below(&dice, most) : most;
	double *x = malloc(n * d * sizeof(*x)), *start = malloc((size_t)k * d * sizeof(*start));
	struct given g;

	assert_non_null(x);
	assert_non_null(start);
	for (size_t i = 0; i < n; i++)
		for (unsigned j = 0; j < d; j++)
			x[i * d + j] = kinds[kind].value(&dice, i, j);
	for (unsigned c = 0; c < k; c++) {
		const size_t row = k == n ? c : below(&dice, (unsigned)n);
		const double away = below(&dice, 10) ? 0 : fmin(1000 * fabs(x[row * d]), 1e38);

		for (unsigned j = 0; j < d; j++)
			start[(size_t)c * d + j] = x[row * d + j] + away;
	}
	g = problem_of(below(&dice, 2) ? REAL_FLOAT : REAL_DOUBLE, n, d, k, x, start);
	g.kind = kinds[kind].name;
	g.seed = seed;
	return g;
}

#define SAID(g)                                                                                 \
	(g)->kind, (unsigned long long)(g)->seed, (g)->problem.points.n, (g)->problem.points.d, \
		(g)->problem.k, (g)->problem.points.real == REAL_FLOAT ? "float" : "double"
#define PROBLEM "%s %llu: %zu x %u, k=%u, %s: "

/* A solution that outlives its solver. */
struct kept {
	uint32_t *label;
	double *from, *centre;
	uint64_t *count, iterations, distances;
};

static inline void *copy(const void *from, size_t bytes)
{
	void *to = malloc(bytes + 1);

	assert_non_null(to);
	return memcpy(to, from, bytes);
}

static inline struct kept keep(const struct solution *s, const struct problem *p)
{
	const size_t row = p->points.d * sizeof(double);

	return (struct kept){ copy(s->label, p->points.n * sizeof(*s->label)),
			      copy(s->from, p->k * row),
			      copy(s->centre, p->k * row),
			      copy(s->count, p->k * sizeof(*s->count)),
			      s->iterations,
			      s->distances };
}

static inline void drop(struct kept *k)
{
	free(k->label);
	free(k->from);
	free(k->centre);
	free(k->count);
}

/* ---- memory for a solver ---- */

struct blocks {
	void *block[4];
	unsigned n;
};

static inline void *map(void *blocks, const char *name, size_t bytes, bool huge)
{
	struct blocks *b = blocks;
	void *block = aligned_alloc(4096, round_up(bytes, 4096));

	(void)huge;
	assert_non_null(name);
	assert_non_null(block);
	return b->block[b->n++] = block;
}

static inline void claim(void *blocks, void *part, size_t bytes, unsigned worker, bool alone)
{
	(void)blocks, (void)part, (void)bytes, (void)worker, (void)alone;
}

static inline void blocks_free(struct blocks *b)
{
	while (b->n)
		free(b->block[--b->n]);
}

static inline void enter(void *lloyd, struct worker *w)
{
	lloyd_enter(lloyd, w);
}

static inline void work(void *lloyd, struct worker *w)
{
	lloyd_work(lloyd, w);
}

struct job {
	struct problem problem;
	enum prune prune;
	struct kept kept;
	bool fits;
};

/* Twice, since each lloyd_work() starts afresh. */
static inline int solve(struct team *team, void *argument)
{
	struct job *job = argument;
	const struct place here = { sched_getcpu(), 0 };
	struct place place[MOST_THREADS];
	struct blocks blocks = { .n = 0 };
	struct lloyd *lloyd;
	unsigned culprit;

	for (unsigned i = 0; i < MOST_THREADS; i++)
		place[i] = here;
	if (team_seat(team, place, job->problem.threads, &culprit))
		return -1;
	job->problem.team = team;
	lloyd = lloyd_open(&job->problem, job->prune,
			   &(struct lloyd_memory){ &blocks, map, claim });
	job->fits = lloyd || errno != EINVAL;
	if (!lloyd)
		return job->fits ? -1 : 0;
	team_run(team, enter, lloyd);
	team_run(team, work, lloyd);
	team_run(team, work, lloyd);
	job->kept = keep(lloyd_solution(lloyd), &job->problem);
	lloyd_close(lloyd);
	blocks_free(&blocks);
	return 0;
}

static inline struct job run(const struct given *g, enum prune prune, unsigned threads,
			     uint64_t iterations)
{
	struct job job = { .problem = g->problem, .prune = prune };

	job.problem.threads = threads;
	job.problem.iterations = iterations;
	assert_int_equal(team_open(threads, solve, &job), 0);
	return job;
}

static inline void are_same(const struct given *g, const struct kept *a, const struct kept *b,
			    enum prune prune, unsigned threads)
{
	const size_t row = g->problem.points.d * sizeof(double);

	if (a->iterations != b->iterations ||
	    memcmp(a->label, b->label, g->problem.points.n * sizeof(*a->label)) ||
	    memcmp(a->from, b->from, g->problem.k * row) ||
	    memcmp(a->centre, b->centre, g->problem.k * row) ||
	    memcmp(a->count, b->count, g->problem.k * sizeof(*a->count)))
		fail_msg(PROBLEM "pruning %u on %u threads gives another result", SAID(g), prune,
			 threads);
}

/*
 * Large enough for blocks, cells and bounds, which small problems never fill; clustered, so that
 * pruning can save work.
 */
static inline struct given larger_problem(uint64_t seed, double shift)
{
	static const unsigned dimensions[] = { 1, 2, 3, 4, 8, 17 };
	struct dice dice = { seed, 0 };
	const unsigned d = dimensions[seed % LENGTH(dimensions)], k = 20 + below(&dice, 120);
	/* some sizes fill whole pages, or whole blocks of some sizes only */
	const size_t n = seed % 4 == 3 ? 4096 : 4000 + below(&dice, 3000);
	double *x = malloc(n * d * sizeof(*x)), *start = malloc((size_t)k * d * sizeof(*start));
	struct given g;

	assert_non_null(x);
	assert_non_null(start);
	/* multiples of 2^-20, which stay exact when shifted */
	for (size_t e = 0; e < n * d; e++)
		x[e] = floor(clustered(&dice, e / d, (unsigned)(e % d)) * 0x1p20) * 0x1p-20 + shift;
	for (unsigned c = 0; c < k; c++)
		memcpy(start + (size_t)c * d, x + below(&dice, (unsigned)n) * d, d * sizeof(*x));
	g = problem_of(seed % 4 == 3 && !shift ? REAL_FLOAT : REAL_DOUBLE, n, d, k, x, start);
	g.kind = "larger";
	g.seed = seed;
	return g;
}

/* A method on one thread's share of the points, without the driver. */
struct alone {
	struct frame frame;
	struct share s;
	struct joint joint;
	void *memory, *spare;
	double *given, *scratch; /* k and one row of d */
};

/* The box of the points is low..high in each dimension. */
static inline struct alone *alone_begin(const struct method *method, const struct given *g,
					double low, double high)
{
	const unsigned d = g->problem.points.d, k = g->problem.k;
	const size_t n = g->problem.points.n;
	struct alone *a = apart_alloc(sizeof(*a));
	struct carver none = { .memory = NULL }, carver = none, spare = none;

	exact_carve(&spare, d, k);
	a->spare = spare.memory = apart_alloc(spare.used);
	spare.used = 0;
	frame_lay_out(&a->frame, &none, &g->problem);
	a->memory = carver.memory = apart_alloc(none.used);
	frame_lay_out(&a->frame, &carver, &g->problem);
	for (unsigned j = 0; j < d; j++) {
		a->frame.low[j] = low;
		a->frame.high[j] = high;
	}
	a->given = calloc((size_t)k * d, sizeof(*a->given));
	a->scratch = malloc(d * sizeof(*a->scratch));
	frame_begin(&a->frame, &g->problem, a->given, a->scratch);
	a->joint = (struct joint){ .points = n, .share = &a->s, .workers = 1 };
	a->s = (struct share){ .n = n,
			       .x = g->problem.points.x,
			       .joint = &a->joint,
			       .scratch = exact_carve(&spare, d, k),
			       .memory = apart_alloc(method->bytes(&g->problem, n)),
			       .change = sums_at(malloc(sums_length(d, k) * sizeof(int64_t)), d, k),
			       .label = malloc(n * sizeof(*a->s.label)) };
	method->build(&a->s, &a->frame.stage);
	return a;
}

static inline void alone_assign(struct alone *a, const struct method *method, uint64_t iteration)
{
	a->frame.stage.iteration = iteration;
	sums_clear(&a->s.change);
	method->assign(&a->s, &a->frame.stage);
}

/* The method and brute force assign the same labels to the same problem. */
static inline void assign_as_brute(struct alone *a, const struct method *method,
				   struct alone *plain, uint64_t iteration)
{
	alone_assign(a, method, iteration);
	alone_assign(plain, &method_brute, iteration);
	method->labels(&a->s, &a->frame.stage);
	method_brute.labels(&plain->s, &plain->frame.stage);
	assert_memory_equal(a->s.label, plain->s.label, a->s.n * sizeof(*a->s.label));
}

static inline void alone_end(struct alone *a)
{
	free(a->s.change.sum);
	free(a->s.memory);
	free(a->s.label);
	free(a->memory);
	free(a->spare);
	free(a->given);
	free(a->scratch);
	free(a);
}

#endif
