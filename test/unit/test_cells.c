/* SPDX-License-Identifier: Apache-2.0 */
/*
 * k-means pruned by cells: the same as brute force, bit for bit, on data that is easy, hard or
 * degenerate; and it does prune.
 */
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
#include "kit/instructions.h"
#include "solve/kmeans/method.h"

static uint64_t turns;

static double uniform(void)
{
	return (double)(random_mix(++turns) >> 11) * 0x1p-53;
}

/* ---- points ---- */

static double spread_out(size_t i, unsigned j)
{
	(void)i, (void)j;
	return uniform();
}

/* Lumps, some much denser than others. */
static double lumps(size_t i, unsigned j)
{
	const double width = i % 7 == 0 ? 1 : 1e-3;

	return (double)(i % 7 * (j + 1)) + width * (uniform() + uniform() + uniform() - 1.5);
}

/* Points and centres on a lattice: many points are equally near to two or more centres. */
static double lattice(size_t i, unsigned j)
{
	(void)i, (void)j;
	return floor(uniform() * 9);
}

/* Almost equally near: floats don't tell which of two centres is nearer. */
static double near_lattice(size_t i, unsigned j)
{
	return lattice(i, j) + 1e-12 * uniform();
}

static double collinear(size_t i, unsigned j)
{
	return (double)(i % 1000) * (j + 1) / 7;
}

static double twice(size_t i, unsigned j)
{
	return (double)(i % 50 * (j + 3) % 11) + (double)(i % 50) * 0.1;
}

static double equal(size_t i, unsigned j)
{
	(void)i;
	return 0.1 * (j + 1);
}

/* Two points are so far away that all others fall into one cell, several times over. */
static double outlier(size_t i, unsigned j)
{
	(void)j;
	return i == 3 ? 1e7 : i == 4 ? -1e3 : uniform();
}

static double far_away(size_t i, unsigned j)
{
	(void)i;
	return (j ? -1e6 : 1e6) + uniform();
}

static const struct {
	const char *name;
	double (*value)(size_t i, unsigned j);
} kinds[] = {
	{ "spread out", spread_out }, { "lumps", lumps },	{ "lattice", lattice },
	{ "collinear", collinear },   { "twice", twice },	{ "equal", equal },
	{ "outlier", outlier },	      { "far away", far_away }, { "near a lattice", near_lattice },
};

/* Points of a kind, and centres that are points, some of them more than once. */
static struct problem make(unsigned kind, enum real real, size_t n, unsigned d, unsigned k)
{
	const size_t value = real_bytes(real);
	char *x = malloc(n * d * value), *start = malloc((size_t)k * d * value);

	assert_true(x && start);
	for (size_t i = 0; i < n; i++)
		for (unsigned j = 0; j < d; j++)
			real_set(real, x, i * d + j, kinds[kind].value(i, j));
	for (unsigned c = 0; c < k; c++)
		memcpy(start + c * d * value,
		       x + (c % 16 == 15 ? 0 : (size_t)(uniform() * (double)n)) * d * value,
		       d * value);
	return (struct problem){
		.points = { real, n, d, x }, .all = n, .k = k, .start = start, .threads = 1
	};
}

static void unmake(struct problem *p)
{
	free(p->points.x);
	free((void *)p->start);
}

/* ---- one clustering ---- */

struct run {
	struct problem problem;
	enum prune prune;
	uint32_t *label;
	double *centre;
	uint64_t *count;
	uint64_t iterations, distances;
};

static void *map(void *blocks, const char *name, size_t bytes, bool huge)
{
	void ***next = blocks, *block = aligned_alloc(4096, round_up(bytes, 4096));

	(void)name, (void)huge;
	assert_non_null(block);
	return *(*next)++ = block;
}

static void claim(void *blocks, void *part, size_t bytes, unsigned worker, bool alone)
{
	(void)blocks, (void)part, (void)bytes, (void)worker, (void)alone;
}

static void enter(void *l, struct worker *w)
{
	lloyd_enter(l, w);
}

static void work(void *l, struct worker *w)
{
	lloyd_work(l, w);
}

static int cluster(struct team *team, void *argument)
{
	struct run *r = argument;
	struct problem *p = &r->problem;
	struct place place[8] = { { 0 } };
	const struct solution *s;
	void *block[4], **next = block;
	struct lloyd *l;
	unsigned culprit;
	int cpu = sched_getcpu();

	for (unsigned i = 0; i < p->threads; i++)
		place[i].cpu = cpu;
	assert_int_equal(team_seat(team, place, p->threads, &culprit), 0);
	p->team = team;
	l = lloyd_open(p, r->prune, &(struct lloyd_memory){ &next, map, claim });
	assert_non_null(l);
	assert_string_equal(choice_make(p, r->prune).method[0]->name,
			    r->prune == PRUNE_NONE ? "brute" : "cells");
	team_run(team, enter, l);
	for (int turn = 0; turn < 2; turn++) /* the second does not depend on the first */
		team_run(team, work, l);
	s = lloyd_solution(l);
	memcpy(r->label, s->label, p->points.n * sizeof(*r->label));
	memcpy(r->centre, s->centre, (size_t)p->k * p->points.d * sizeof(*r->centre));
	memcpy(r->count, s->count, p->k * sizeof(*r->count));
	r->iterations = s->iterations;
	r->distances = s->distances;
	lloyd_close(l);
	while (next > block)
		free(*--next);
	return 0;
}

static void run(struct run *r, struct problem p, enum prune prune)
{
	*r = (struct run){ .problem = p, .prune = prune };
	r->label = malloc(p.points.n * sizeof(*r->label));
	r->centre = malloc((size_t)p.k * p.points.d * sizeof(*r->centre));
	r->count = malloc(p.k * sizeof(*r->count));
	assert_true(r->label && r->centre && r->count);
	assert_int_equal(team_open(p.threads, cluster, r), 0);
}

static void drop(struct run *r)
{
	free(r->label);
	free(r->centre);
	free(r->count);
}

/* ---- the method alone ---- */

/* What the driver would show to the method. */
struct scene {
	struct problem p;
	struct stage stage;
	struct joint joint;
	struct share share;
	char origin[4 * 8], *x, *centre, *half;
	double low[3], high[3], scale[3], *moved, *given;
	int64_t *row, *total;
	uint32_t *label, *before; /* before: in the last iteration */
};

/* The squared distance of a point from a centre, both as given. */
static long double square_of(const struct scene *s, size_t i, unsigned c)
{
	const unsigned d = s->p.points.d;
	long double sum = 0;

	for (unsigned j = 0; j < d; j++) {
		const long double apart =
			(long double)real_get(s->p.points.real, s->p.points.x, i * d + j) -
			s->given[c * d + j];

		sum += apart * apart;
	}
	return sum;
}

/* Moves a centre to this place, or to the nearest one in the box. */
static void put(struct scene *s, unsigned c, const double *to)
{
	const enum real real = s->p.points.real;
	double square = 0, way = 0, least = 0;

	for (unsigned j = 0; j < s->p.points.d; j++) {
		const size_t at = (size_t)c * s->p.points.d + j;
		const double old = real_get(real, s->centre, at), was = s->given[at],
			     origin = real_get(real, s->origin, j);

		/* as given, in the points' type; then relative */
		real_set(real, s->centre, at, fmin(fmax(to[j], s->low[j]), s->high[j]) + origin);
		s->given[at] = real_get(real, s->centre, at);
		real_set(real, s->centre, at, s->given[at] - origin);
		least = s->given[at] < was || s->given[at] > was ? (double)FLT_MIN : least;
		square += real_get(real, s->centre, at) * real_get(real, s->centre, at);
		way += pow(real_get(real, s->centre, at) - old, 2);
	}
	real_set(real, s->half, c, square / 2);
	s->moved[c] = fmax(sqrt(way) * (1 + 16 * DBL_EPSILON), least);
}

static void *some(size_t bytes)
{
	void *memory = aligned_alloc(APART, (bytes + APART) / APART * APART);

	assert_non_null(memory);
	return memset(memory, 0x5a, bytes);
}

static void open_scene(struct scene *s, struct problem p, enum isa widest)
{
	const enum real real = p.points.real;
	const unsigned d = p.points.d;
	const size_t n = p.points.n, value = real_bytes(real),
		     length = sums_length(d, p.k) * sizeof(int64_t);
	double square = 0;

	*s = (struct scene){ .p = p,
			     .x = some(n * d * value),
			     .centre = some(p.k * d * value),
			     .half = some(p.k * value) };
	s->moved = some(p.k * sizeof(double));
	s->given = memset(some(p.k * d * sizeof(double)), 0, p.k * d * sizeof(double));
	s->row = some(length);
	s->total = memset(some(length), 0, length);
	s->label = some(n * sizeof(uint32_t));
	s->before = memset(some(n * sizeof(uint32_t)), 0xff, n * sizeof(uint32_t)); /* none */
	for (unsigned j = 0; j < d; j++) {
		s->low[j] = INFINITY;
		s->high[j] = -INFINITY;
		for (size_t i = 0; i < n; i++) {
			s->low[j] = fmin(s->low[j], real_get(real, p.points.x, i * d + j));
			s->high[j] = fmax(s->high[j], real_get(real, p.points.x, i * d + j));
		}
		real_set(real, s->origin, j, s->low[j] / 2 + s->high[j] / 2);
		real_set(real, s->origin, d, 1);
		for (size_t i = 0; i < n; i++)
			real_set(real, s->x, i * d + j,
				 real_get(real, p.points.x, i * d + j) -
					 real_get(real, s->origin, j));
		real_set(real, s->half, 0, s->low[j] - real_get(real, s->origin, j));
		s->low[j] = real_get(real, s->half, 0);
		real_set(real, s->half, 0, s->high[j] - real_get(real, s->origin, j));
		s->high[j] = real_get(real, s->half, 0);
		s->scale[j] = sum_scale(fmax(-s->low[j], s->high[j]), n);
		square += pow(fmax(-s->low[j], s->high[j]), 2);
	}
	memset(s->centre, 0, p.k * d * value);
	for (unsigned c = 0; c < p.k; c++) {
		double to[3];

		for (unsigned j = 0; j < d; j++)
			to[j] = real_get(real, p.start, (size_t)c * d + j) -
				real_get(real, s->origin, j);
		put(s, c, to);
		s->moved[c] = 0;
	}
	s->stage = (struct stage){ .widest = widest,
				   .real = real,
				   .d = d,
				   .k = p.k,
				   .all = n,
				   .origin = s->origin,
				   .centre = s->centre,
				   .half = s->half,
				   .given = s->given,
				   .low = s->low,
				   .high = s->high,
				   .moved = s->moved,
				   .scale = s->scale,
				   .reach = sqrt(square) * (1 + 16 * DBL_EPSILON),
				   .forced = true };
	s->stage.slack =
		(d + 4) * ((real == REAL_FLOAT ? FLT_EPSILON : DBL_EPSILON) * 1.5 * square +
			   (real == REAL_FLOAT ? FLT_MIN : DBL_MIN));
	s->stage.margin = 4 * s->stage.slack;
	s->share = (struct share){ .n = n,
				   .x = p.points.x,
				   .memory = some(method_cells.bytes(&p, n)),
				   .joint = &s->joint,
				   .place = some(n * sizeof(uint32_t)),
				   .label = s->label };
	s->joint = (struct joint){ .points = n,
				   .share = &s->share,
				   .workers = 1,
				   .row = some(points_bytes(&p.points)),
				   .label = some(n * sizeof(uint32_t)) };
	s->share.change = sums_at(s->row, d, p.k);
}

static void close_scene(struct scene *s)
{
	free(s->share.memory);
	free(s->share.place);
	free(s->joint.row);
	free(s->joint.label);
	free(s->x);
	free(s->centre);
	free(s->half);
	free(s->moved);
	free(s->given);
	free(s->row);
	free(s->total);
	free(s->label);
	free(s->before);
}

/*
 * Checks that all labels are those of the nearest centres, that the changes add up to the sums of
 * the clusters, and that each point with a new label is counted.
 */
static void check_scene(struct scene *s, const char *kind)
{
	const unsigned d = s->p.points.d, k = s->p.k;
	const size_t n = s->p.points.n;
	struct sums total = sums_at(s->total, d, k),
		    fresh = sums_at(some(sums_length(d, k) * sizeof(int64_t)), d, k);
	int64_t moves = 0;

	for (size_t i = 0; i < sums_length(d, k); i++)
		s->total[i] = (int64_t)((uint64_t)s->total[i] + (uint64_t)s->row[i]);
	sums_clear(&fresh);
	for (size_t i = 0; i < n; i++) {
		const uint32_t label = s->label[i];
		long double least = INFINITY;
		unsigned nearest = 0;

		for (unsigned c = 0; c < k; c++) {
			const long double square = square_of(s, i, c);

			nearest = square < least ? c : nearest;
			least = fminl(square, least);
		}
		if (label >= k || square_of(s, i, label) > least * (1 + 8 * DBL_EPSILON))
			fail_msg("%s: n %zu, d %u, k %u, %s, up to %s, iteration %d: point %zu has "
				 "label %u, not %u",
				 kind, n, d, k, s->p.points.real == REAL_FLOAT ? "float" : "double",
				 isa_name(s->stage.widest), (int)s->stage.iteration, i, label,
				 nearest);
		if (s->p.points.real == REAL_FLOAT)
			sums_move_float(&fresh, (const float *)s->x + i * d, s->scale, SUM_NONE,
					label);
		else
			sums_move_double(&fresh, (const double *)s->x + i * d, s->scale, SUM_NONE,
					 label);
	}
	for (size_t i = 0; i < n; i++)
		moves += s->label[i] != s->before[i];
	memcpy(s->before, s->label, n * sizeof(*s->label));
	assert_int_equal(*s->share.change.moves, moves);
	assert_memory_equal(total.sum, fresh.sum, (size_t)k * (d + 1) * sizeof(int64_t));
	free(fresh.sum);
}

/*
 * Centres go to the means of their points, or almost; in some iterations one of them jumps, or
 * nothing moves.
 */
static void next_centres(struct scene *s)
{
	const unsigned d = s->p.points.d, k = s->p.k;
	struct sums total = sums_at(s->total, d, k);

	for (unsigned c = 0; c < k; c++) {
		const double count = (double)total.count[c];
		double to[3];

		for (unsigned j = 0; j < d; j++) {
			const uint64_t sum = (uint64_t)total.sum[c * d + j] -
					     (uint64_t)total.count[c] * (uint64_t)SUM_MAGIC_BITS;

			to[j] = real_get(s->stage.real, s->centre, c * d + j);
			if (s->stage.iteration % 5 == 3 && c == 0)
				to[j] = s->low[j] + uniform() * (s->high[j] - s->low[j]);
			else if (s->stage.iteration % 5 != 2 && count > 0)
				to[j] = (double)(int64_t)sum / s->scale[j] / count;
		}
		put(s, c, to);
	}
	s->stage.iteration++;
}

static void same(const struct run *ours, const struct run *brute, const char *kind)
{
	const struct problem *p = &ours->problem;

	if (ours->iterations != brute->iterations ||
	    memcmp(ours->label, brute->label, p->points.n * sizeof(*ours->label)) != 0 ||
	    memcmp(ours->centre, brute->centre,
		   (size_t)p->k * p->points.d * sizeof(*ours->centre)) != 0 ||
	    memcmp(ours->count, brute->count, p->k * sizeof(*ours->count)) != 0)
		fail_msg("%s: n %zu, d %u, k %u, %s, %u threads: not what brute force finds", kind,
			 p->points.n, p->points.d, p->k,
			 p->points.real == REAL_FLOAT ? "float" : "double", p->threads);
}

/* ---- tests ---- */

static const struct {
	size_t n;
	unsigned k;
} sizes[] = { { 1, 1 }, { 9, 9 }, { 300, 1 }, { 600, 300 }, { 1100, 40 } };

static void always_nearest(void **argument)
{
	static const enum isa widths[] = { ISA_AVX512, ISA_AVX2, ISA_BASELINE };
	const unsigned kind = *(const unsigned *)*argument;

	for (unsigned d = 1; d <= 3; d++)
		for (int real = REAL_DOUBLE; real <= REAL_FLOAT; real++)
			for (size_t i = 0; i < LENGTH(sizes) * LENGTH(widths); i++) {
				const enum isa width = widths[i / LENGTH(sizes)];
				struct problem p;
				struct scene s;

				if (!isa_usable(width))
					continue;
				p = make(kind, real, sizes[i % LENGTH(sizes)].n, d,
					 sizes[i % LENGTH(sizes)].k);
				open_scene(&s, p, width);
				method_cells.build(&s.share, &s.stage);
				for (int turn = 0; turn < (int)cases(8); turn++) {
					sums_clear(&s.share.change);
					method_cells.assign(&s.share, &s.stage);
					method_cells.labels(&s.share, &s.stage);
					check_scene(&s, kinds[kind].name);
					next_centres(&s);
				}
				close_scene(&s);
				unmake(&p);
			}
}

/* The whole clustering, on any number of threads. */
static void is_brute_force(void **argument)
{
	const unsigned kind = *(const unsigned *)*argument;

	for (unsigned n = 0; n < cases(3); n++)
		for (int real = REAL_DOUBLE; real <= REAL_FLOAT; real++) {
			struct problem p = make(kind, real, 1500, 1 + (kind + n) % 3, 20);
			struct run brute, ours;

			p.iterations = 25;
			run(&brute, p, PRUNE_NONE);
			for (p.threads = 1 + (n + (unsigned)real) % 2; p.threads <= 4;
			     p.threads += 2) {
				run(&ours, p, p.threads == 2 ? PRUNE_AUTO : PRUNE_CELLS);
				same(&ours, &brute, kinds[kind].name);
				drop(&ours);
			}
			drop(&brute);
			unmake(&p);
		}
}

static void few_distances_on_any_number_of_threads(void **argument)
{
	static const double most[] = { 0.03, 0.07, 0.3 };
	enum { MANY = 8 };

	(void)argument;
	if (getenv("LOCUS_EMULATED")) {
		print_message(
			"it is the same anywhere, and takes minutes on an emulated machine\n");
		skip();
	}
	for (int real = REAL_DOUBLE; real <= REAL_FLOAT; real++)
		for (unsigned d = 1; d <= 3; d++) {
			struct problem p = make(0, real, 50000, d, 80);
			struct run ours, many;

			p.iterations = 40;
			run(&ours, p, PRUNE_CELLS);
			if ((double)ours.distances > most[d - 1] * 50000. * 80 * 40)
				fail_msg("%u dimensions: %.3f of all distances", d,
					 (double)ours.distances / (50000. * 80 * 40));
			p.threads = MANY;
			run(&many, p, PRUNE_CELLS);
			if ((double)many.distances > 1.05 * (double)ours.distances)
				fail_msg("%u dimensions: %.3f times as many distances on %d "
					 "threads",
					 d, (double)many.distances / (double)ours.distances, MANY);
			drop(&many);
			drop(&ours);
			unmake(&p);
		}
}

/* More dimensions than cells are made for. */
static void refuses(void **argument)
{
	struct problem p = make(0, REAL_DOUBLE, 10, 9, 2);

	(void)argument;
	assert_null(choice_make(&p, PRUNE_CELLS).method[0]);
	unmake(&p);
}

/* PRUNE_AUTO chooses cells if they save more time than sorting takes. */
static void chosen_where_it_pays(void **argument)
{
	static const struct {
		size_t n;
		unsigned k;
		uint64_t iterations;
		bool pays;
		unsigned d;
	} cases[] = { { 20000, 81, 108, true, 2 },  { 20000, 81, 0, true, 2 },
		      { 16384, 4096, 10, true, 2 }, { 16384, 4096, 10, false, 3 },
		      { 20000, 2, 1, false, 2 },    { 500, 81, 108, false, 2 } };

	(void)argument;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct problem p = make(0, REAL_DOUBLE, cases[i].n, cases[i].d, cases[i].k);

		p.iterations = cases[i].iterations;
		assert_int_equal(choice_make(&p, PRUNE_AUTO).method[0] == &method_cells,
				 cases[i].pays);
		unmake(&p);
	}
}

/*
 * Where one point is far from all others, cells compute nearly all distances: PRUNE_AUTO goes on
 * with another method, which leaves out none, and the result is the same.
 */
static void hands_over_where_it_does_not_pay(void **argument)
{
	unsigned kind = 0;

	(void)argument;
	while (strcmp(kinds[kind].name, "outlier"))
		kind++;
	for (int real = REAL_DOUBLE; real <= REAL_FLOAT; real++) {
		struct problem p = make(kind, real, 4000, 2, 40);
		struct run cells_only, brute, by_itself;

		p.iterations = 15;
		run(&cells_only, p, PRUNE_CELLS);
		run(&brute, p, PRUNE_NONE);
		run(&by_itself, p, PRUNE_AUTO);
		same(&by_itself, &brute, kinds[kind].name);
		assert_true(by_itself.distances > cells_only.distances);
		drop(&cells_only);
		drop(&brute);
		drop(&by_itself);
		unmake(&p);
	}
}

int main(void)
{
	static unsigned number[LENGTH(kinds)];
	static char name[2 * LENGTH(kinds)][64];
	struct CMUnitTest tests[2 * LENGTH(kinds) + 4];
	size_t n = 0;

	for (unsigned i = 0; i < LENGTH(kinds); i++) {
		number[i] = i;
		snprintf(name[n], sizeof(name[n]), "%s: labels are those of the nearest centres",
			 kinds[i].name);
		tests[n] = (struct CMUnitTest){ name[n], always_nearest, NULL, NULL, &number[i] };
		n++;
		snprintf(name[n], sizeof(name[n]), "%s: the same as brute force", kinds[i].name);
		tests[n] = (struct CMUnitTest){ name[n], is_brute_force, NULL, NULL, &number[i] };
		n++;
	}
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(hands_over_where_it_does_not_pay);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(few_distances_on_any_number_of_threads);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(refuses);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(chosen_where_it_pays);
	return _cmocka_run_group_tests("cells", tests, n, NULL, NULL);
}
