/* SPDX-License-Identifier: Apache-2.0 */
/*
 * K-means: all variants against a plain sequential one, on random problems of the kinds that go
 * wrong; that a wrong answer is found to be one; and where in a cluster things lie.
 */
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
#include "bench/kmeans/kmeans.h"
#include "bench/kmeans/ladder.h"
#include "cases.h"
#include "kit/shares.h"
#include "machine/memory/arena.h"
#include "machine/topology/topology.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

enum { MOST_THREADS = 4, CASES = 60, MOST_POINTS = 240 };

/* ---- random numbers: SplitMix64, from a seed that is always the same ---- */

static uint64_t seed;

static uint64_t random_word(void)
{
	uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static unsigned below(unsigned n)
{
	return (unsigned)(random_word() % n);
}

static double uniform(void)
{
	return (double)(random_word() >> 11) * 0x1p-53;
}

/* ---- problems ---- */

static const char *const kinds[] = { "uniform",
				     "clumps",
				     "duplicates",
				     "one point",
				     "collinear",
				     "far from the origin",
				     "centres out of reach" };
enum kind { UNIFORMLY, CLUMPS, DUPLICATES, ONE_POINT, COLLINEAR, FAR_AWAY, OUT_OF_REACH };

/*
 * Exact values have the same sums in any order. Ties are then possible, and only the same formula
 * breaks them alike.
 */
static bool is_exact(enum kind kind)
{
	return kind == DUPLICATES || kind == ONE_POINT || kind == COLLINEAR;
}

static double coordinate(enum kind kind, unsigned row, unsigned dimension)
{
	switch (kind) {
	case CLUMPS:
		return (double)(row % 5) * (dimension + 1) + 0.1 * uniform();
	case DUPLICATES:
		return below(3);
	case ONE_POINT:
		return 7;
	case COLLINEAR:
		return (double)(row * 37 % 64) * (dimension + 1);
	case FAR_AWAY:
		return 1e6 + uniform();
	default:
		return uniform();
	}
}

/*
 * Start centres are points, at equal distances in their row, so that with duplicates some are
 * equal.
 */
static void invent(struct problem *p, enum kind kind, enum real real, size_t n, unsigned d,
		   unsigned k)
{
	void *start = malloc(k * d * sizeof(double));

	*p = (struct problem){
		.points = { .real = real, .n = n, .d = d, .x = malloc(n * d * sizeof(double)) },
		.all = n,
		.k = k,
		.start = start
	};
	assert_non_null(p->points.x);
	assert_non_null(start);
	for (size_t i = 0; i < n * d; i++)
		real_set(real, p->points.x, i,
			 coordinate(kind, (unsigned)(i / d), (unsigned)(i % d)));
	for (unsigned c = 0; c < k; c++)
		for (unsigned j = 0; j < d; j++)
			real_set(real, start, c * d + j,
				 real_get(real, p->points.x, share_begin(n, c, k) * d + j) +
					 (kind == OUT_OF_REACH && c % 2 ? 100 : 0));
}

static void forget(struct problem *p)
{
	free(p->points.x);
	free((void *)p->start);
}

/* ---- the plain one ---- */

struct answer {
	uint32_t *label;
	double *mean;
	uint64_t *count;
	uint64_t iterations;
};

static uint32_t nearest(const struct problem *p, size_t point, const double *mean)
{
	double least = INFINITY;
	uint32_t nearest = 0;

	for (uint32_t c = 0; c < p->k; c++) {
		double sum = 0;
		float short_sum = 0;

		for (unsigned j = 0; j < p->points.d; j++) {
			const double x = real_get(p->points.real, p->points.x,
						  point * p->points.d + j),
				     m = mean[c * p->points.d + j];
			const float short_delta = (float)x - (float)m;

			sum += (x - m) * (x - m);
			short_sum += short_delta * short_delta;
		}
		if (p->points.real == REAL_FLOAT)
			sum = short_sum;
		if (sum < least) {
			least = sum;
			nearest = c;
		}
	}
	return nearest;
}

static void make_means(const struct problem *p, struct answer *a)
{
	const unsigned d = p->points.d;
	double sum[p->k * d];

	memset(sum, 0, sizeof(sum));
	memset(a->count, 0, p->k * sizeof(*a->count));
	for (size_t i = 0; i < p->points.n; i++) {
		a->count[a->label[i]]++;
		for (unsigned j = 0; j < d; j++)
			sum[a->label[i] * d + j] +=
				real_get(p->points.real, p->points.x, i * d + j);
	}
	for (unsigned c = 0; c < p->k; c++)
		for (unsigned j = 0; j < d && a->count[c]; j++) {
			const double mean = sum[c * d + j] / (double)a->count[c];

			a->mean[c * d + j] = p->points.real == REAL_FLOAT ? (float)mean : mean;
		}
}

static void cluster_plainly(const struct problem *p, struct answer *a)
{
	*a = (struct answer){ .label = calloc(p->points.n, sizeof(uint32_t)),
			      .mean = calloc(p->k * p->points.d, sizeof(double)),
			      .count = calloc(p->k, sizeof(uint64_t)) };
	assert_non_null(a->label);
	assert_non_null(a->mean);
	assert_non_null(a->count);
	for (size_t i = 0; i < p->points.n; i++)
		a->label[i] = UINT32_MAX;
	for (unsigned i = 0; i < p->k * p->points.d; i++)
		a->mean[i] = real_get(p->points.real, p->start, i);
	for (bool last = false; !last;) {
		bool changed = false;

		for (size_t i = 0; i < p->points.n; i++) {
			const uint32_t c = nearest(p, i, a->mean);

			changed |= c != a->label[i];
			a->label[i] = c;
		}
		make_means(p, a);
		a->iterations++;
		last = p->iterations ? a->iterations == p->iterations : !changed;
	}
}

static void answer_free(struct answer *a)
{
	free(a->label);
	free(a->mean);
	free(a->count);
}

/* ---- the team, and a variant on it ---- */

struct fixture {
	struct team *team;
	struct machine *machine;
	struct place place[MOST_THREADS];
};

static void seat(struct fixture *f, unsigned threads)
{
	unsigned culprit;

	assert_int_equal(team_seat(f->team, f->place, threads, &culprit), 0);
}

static void *map(void *arena, const char *name, size_t bytes, bool huge)
{
	struct region *r = region_map(arena, name, bytes, huge ? PAGES_THP : PAGES_BASE);

	return r ? region_base(r) : NULL;
}

static void claim(void *arena, void *part, size_t bytes, unsigned worker, bool alone)
{
	(void)arena, (void)part, (void)bytes, (void)worker, (void)alone;
}

struct job {
	struct ladder *ladder;
	struct lloyd *lloyd;
	uint64_t done[MOST_THREADS];
};

static void enter(void *argument, struct worker *w)
{
	struct job *job = argument;

	if (job->ladder)
		ladder_enter(job->ladder, w);
	else
		lloyd_enter(job->lloyd, w);
}

static void work(void *argument, struct worker *w)
{
	struct job *job = argument;

	if (job->lloyd) {
		lloyd_work(job->lloyd, w);
		return;
	}
	ladder_work(job->ladder, w);
	job->done[w->index] = w->done;
}

enum { BEST = RUNGS, VARIANTS };

/*
 * Calls back with the solution of a variant, which is valid during the call. Solves twice: the
 * second time has to begin anew.
 */
static void solve(struct fixture *f, struct problem *p, unsigned threads, unsigned variant,
		  void (*then)(const struct problem *, const struct solution *, void *),
		  void *argument)
{
	struct arena *arena = arena_open(f->machine);
	struct job job = { 0 };

	assert_non_null(arena);
	p->team = f->team;
	p->threads = threads;
	seat(f, threads);
	if (variant == BEST)
		job.lloyd = lloyd_open(p, PRUNE_AUTO, &(struct lloyd_memory){ arena, map, claim });
	else
		job.ladder = ladder_open(p, (enum rung)variant, arena);
	assert_true(job.lloyd || job.ladder);
	team_run(f->team, enter, &job);
	for (int time = 0; time < 2; time++) {
		team_run(f->team, work, &job);
		then(p, job.ladder ? ladder_solution(job.ladder) : lloyd_solution(job.lloyd),
		     argument);
	}
	for (unsigned i = 0; job.ladder && i < threads; i++)
		assert_int_equal(job.done[i], ladder_solution(job.ladder)->iterations);
	lloyd_close(job.lloyd);
	ladder_close(job.ladder);
	arena_close(arena);
}

/* ---- all variants against the plain one ---- */

static void is_right(const struct problem *p, const struct solution *s, void *unused)
{
	const char *wrong = solution_verify(p, s);

	(void)unused;
	if (wrong)
		fail_msg("%s", wrong);
}

static void agrees(const struct problem *p, const struct solution *s, void *answer)
{
	const struct answer *a = answer;

	is_right(p, s, NULL);
	assert_int_equal(s->iterations, a->iterations);
	assert_memory_equal(s->label, a->label, p->points.n * sizeof(uint32_t));
	assert_memory_equal(s->count, a->count, p->k * sizeof(uint64_t));
	for (unsigned i = 0; i < p->k * p->points.d; i++)
		assert_true(fabs(s->centre[i] - a->mean[i]) <=
			    (p->points.real == REAL_FLOAT ? 1e-6 : 1e-12) * (1 + fabs(a->mean[i])));
}

/*
 * Where ties are possible, and where short numbers make them likely, `best` may go another way; but
 * each of its steps must be right.
 */
static void try_case(struct fixture *f, struct problem *p, bool exact)
{
	struct answer plain;

	cluster_plainly(p, &plain);
	for (unsigned variant = 0; variant < VARIANTS; variant++) {
		const unsigned threads = 1 + below(MOST_THREADS);
		const bool alike = variant != BEST || (!exact && p->points.real == REAL_DOUBLE);

		solve(f, p, threads, variant, alike ? agrees : is_right, &plain);
	}
	answer_free(&plain);
}

/* The case at hand, so that a failure can be found again. */
static char at_hand[128];

static int say_which(void **state)
{
	(void)state;
	print_message("# the last one: %s\n", at_hand);
	return 0;
}

static void try_random_case(struct fixture *f, unsigned i)
{
	const enum kind kind = (enum kind)(i % LENGTH(kinds));
	const unsigned n = 1 + below(MOST_POINTS), d = below(3) ? 1 + below(9) : 2,
		       most = n < 24 ? n : 24;
	const unsigned k = i % 9 == 0 ? 1 : i % 9 == 1 ? most : 1 + below(most);
	const enum real real = below(4) ? REAL_DOUBLE : REAL_FLOAT;
	struct problem p;

	snprintf(at_hand, sizeof(at_hand), "%u: %s, %u x %u, k=%u, %s", i, kinds[kind], n, d, k,
		 real == REAL_FLOAT ? "float" : "double");
	invent(&p, kind, real, n, d, k);
	p.iterations = below(3) ? 0 : 1 + below(5);
	try_case(f, &p, is_exact(kind));
	forget(&p);
}

static int all_agree(struct team *team, void *argument)
{
	struct fixture *f = argument;

	f->team = team;
	seed = 20171;
	for (unsigned i = 0; i < cases(CASES); i++)
		try_random_case(f, i);
	return 0;
}

/* As many clusters as points, and no point twice: no centre moves. */
static int every_point_is_a_cluster(struct team *team, void *argument)
{
	struct fixture *f = argument;
	struct problem p;

	f->team = team;
	invent(&p, UNIFORMLY, REAL_DOUBLE, 50, 3, 50);
	try_case(f, &p, false);
	forget(&p);
	return 0;
}

/* ---- values whose squares overflow or underflow ---- */

static void is_wrong(const struct problem *p, const struct solution *s, void *unused)
{
	(void)unused;
	assert_non_null(solution_verify(p, s));
}

/* `best` works in a unit of its own; the ladder does not, and verification finds that. */
static int squares_out_of_range(struct team *team, void *argument)
{
	static const struct {
		enum real real;
		double factor;
		bool ladder; /* can do it, too */
	} extremes[] = { { REAL_DOUBLE, 1e200, false },	    { REAL_DOUBLE, 1e-200, false },
			 { REAL_DOUBLE, 0x1p-1040, false }, { REAL_DOUBLE, 1e306, false },
			 { REAL_FLOAT, 1e30, false },	    { REAL_FLOAT, 1e-30, false },
			 { REAL_DOUBLE, 1e100, true },	    { REAL_DOUBLE, 1e-100, true } };
	struct fixture *f = argument;
	struct problem p;

	f->team = team;
	seed = 7;
	for (size_t e = 0; e < LENGTH(extremes); e++) {
		invent(&p, UNIFORMLY, extremes[e].real, 100, 2, 8);
		for (size_t i = 0; i < 200; i++)
			real_set(p.points.real, p.points.x, i,
				 real_get(p.points.real, p.points.x, i) * extremes[e].factor);
		for (size_t i = 0; i < 16; i++)
			real_set(p.points.real, (void *)p.start, i,
				 real_get(p.points.real, p.start, i) * extremes[e].factor);
		snprintf(at_hand, sizeof(at_hand), "values of %g", extremes[e].factor);
		solve(f, &p, 2, BEST, is_right, NULL);
		solve(f, &p, 2, RUNG_TWO_PHASES, extremes[e].ladder ? is_right : is_wrong, NULL);
		forget(&p);
	}
	return 0;
}

/* If points differ only in their last bits, their means lie between doubles. */
static int means_between_doubles(struct team *team, void *argument)
{
	struct fixture *f = argument;
	struct problem p;

	f->team = team;
	for (unsigned i = 0; i < 20; i++) {
		seed = i;
		invent(&p, UNIFORMLY, REAL_DOUBLE, 200, 3, 20);
		for (size_t at = 0; at < 600; at++)
			real_set(REAL_DOUBLE, p.points.x, at,
				 i % 2 ? 1e6 + below(9) * 0x1p-33 : below(2000) * 0x1p-1074);
		for (size_t at = 0; at < 60; at++)
			real_set(REAL_DOUBLE, (void *)p.start, at,
				 real_get(REAL_DOUBLE, p.points.x, at));
		snprintf(at_hand, sizeof(at_hand), "%u", i);
		solve(f, &p, 2, BEST, is_right, NULL);
		forget(&p);
	}
	return 0;
}

/* ---- wrong answers ---- */

/* A deep copy, so that the solution can be spoilt. */
struct copy {
	struct problem p;
	struct solution s;
};

static void *duplicate(const void *from, size_t bytes)
{
	void *to = malloc(bytes);

	assert_non_null(to);
	return memcpy(to, from, bytes);
}

static void keep(const struct problem *p, const struct solution *s, void *argument)
{
	struct copy *copy = argument;
	const size_t values = p->k * p->points.d;

	if (copy->s.label)
		return;
	copy->p = *p;
	copy->s = *s;
	copy->s.label = duplicate(s->label, p->points.n * sizeof(*s->label));
	copy->s.from = duplicate(s->from, values * sizeof(double));
	copy->s.centre = duplicate(s->centre, values * sizeof(double));
	copy->s.count = duplicate(s->count, p->k * sizeof(*s->count));
}

static void assert_wrong(const struct copy *copy, const char *words)
{
	const char *wrong = solution_verify(&copy->p, &copy->s);

	assert_non_null(wrong);
	if (!strstr(wrong, words))
		fail_msg("'%s' does not say '%s'", wrong, words);
}

static int wrong_answers_are_found(struct team *team, void *argument)
{
	struct fixture *f = argument;
	struct copy copy = { 0 };
	struct solution *s = &copy.s;
	struct problem p;
	double x, y;

	f->team = team;
	seed = 5;
	invent(&p, OUT_OF_REACH, REAL_DOUBLE, 200, 2, 8);
	solve(f, &p, 2, RUNG_TWO_PHASES, keep, &copy);
	assert_null(solution_verify(&copy.p, s));
	assert_int_equal(s->count[1], 0); /* out of reach */

	s->label[199] = (s->label[199] + 2) % 8;
	assert_wrong(&copy, "point 199 has label");
	s->label[199] = 8;
	assert_wrong(&copy, "which is none");
	s->label[199] = (uint32_t)nearest(&copy.p, 199, s->from);
	assert_null(solution_verify(&copy.p, s));

	s->count[0]++;
	assert_wrong(&copy, "cluster 0 has a count of");
	s->count[0]--;

	x = s->centre[0], y = s->from[0];
	s->centre[0] += 1e-9;
	assert_wrong(&copy, "but their mean is");
	s->centre[0] = NAN;
	assert_wrong(&copy, "but their mean is");
	s->centre[0] = x;
	s->from[0] += 1e-9;
	assert_wrong(&copy, "still moved");
	s->from[0] = y;
	x = s->centre[3];
	s->centre[3] += 1e-12;
	assert_wrong(&copy, "centre 1 of 0 points"); /* which had to stay */
	s->centre[3] = x;

	copy.p.iterations = s->iterations + 1;
	assert_wrong(&copy, "as many iterations");
	copy.p.iterations = 0;
	assert_null(solution_verify(&copy.p, s));

	free(s->label);
	free(s->from);
	free(s->centre);
	free(s->count);
	forget(&p);
	return 0;
}

static void inertia_is(const struct problem *p, const struct solution *s, void *unused)
{
	double sum = 0;

	(void)unused;
	for (size_t i = 0; i < p->points.n * p->points.d; i++) {
		const double delta =
			real_get(p->points.real, p->points.x, i) -
			s->centre[s->label[i / p->points.d] * p->points.d + i % p->points.d];

		sum += delta * delta;
	}
	assert_true(fabs(solution_inertia(p, s) - sum) <= 1e-12 * sum);
}

static int inertia_is_that_of_the_centres(struct team *team, void *argument)
{
	struct fixture *f = argument;
	struct problem p;

	f->team = team;
	invent(&p, UNIFORMLY, REAL_FLOAT, 100, 3, 4);
	p.iterations = 1;
	solve(f, &p, 3, RUNG_PRIVATE_PADDED, inertia_is, NULL);
	forget(&p);
	return 0;
}

/* ---- where things lie ---- */

static void clusters_share_no_line(void **state)
{
	static const size_t values[] = { sizeof(double), sizeof(float) };

	(void)state;
	for (size_t i = 0; i < LENGTH(values); i++)
		for (unsigned d = 1; d < 40; d++) {
			const size_t real = values[i];

			assert_int_equal(STRIDE(d, real, false) % LINE, 0);
			assert_true(SUM_AT(d, real, false) >= d * real &&
				    SUM_AT(d, real, false) % sizeof(double) == 0);
			assert_true(LOCK_AT(d, real, false) + sizeof(struct spin_lock) <=
				    STRIDE(d, real, false));
			assert_true(STRIDE(d, real, false) - LOCK_AT(d, real, false) -
					    sizeof(struct spin_lock) <
				    LINE);
			assert_int_equal(SUM_AT(d, real, true) % PADDED, 0);
			assert_int_equal(STRIDE(d, real, true) % PADDED, 0);
			assert_true(SUM_AT(d, real, true) >= d * real);
		}
}

/* ---- */

static int with_team(int (*body)(struct team *, void *))
{
	struct fixture f = { 0 };
	const char *error;
	cpu_set_t set;
	unsigned n = 0;
	int status;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	for (int cpu = 0; n < MOST_THREADS; cpu = (cpu + 1) % CPU_SETSIZE)
		if (CPU_ISSET(cpu, &set))
			f.place[n++] = (struct place){ cpu, 0 };
	f.machine = machine_open(NULL, &error);
	assert_non_null(f.machine);
	status = team_open(MOST_THREADS, body, &f);
	machine_close(f.machine);
	return status;
}

#define WITH_TEAM(NAME)                               \
	static void test_##NAME(void **state)         \
	{                                             \
		(void)state;                          \
		assert_int_equal(with_team(NAME), 0); \
	}
WITH_TEAM(all_agree)
WITH_TEAM(every_point_is_a_cluster)
WITH_TEAM(squares_out_of_range)
WITH_TEAM(means_between_doubles)
WITH_TEAM(wrong_answers_are_found)
WITH_TEAM(inertia_is_that_of_the_centres)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clusters_share_no_line),
		cmocka_unit_test_teardown(test_all_agree, say_which),
		cmocka_unit_test(test_every_point_is_a_cluster),
		cmocka_unit_test_teardown(test_squares_out_of_range, say_which),
		cmocka_unit_test_teardown(test_means_between_doubles, say_which),
		cmocka_unit_test(test_wrong_answers_are_found),
		cmocka_unit_test(test_inertia_is_that_of_the_centres),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
