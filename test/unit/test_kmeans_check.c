/* SPDX-License-Identifier: Apache-2.0 */
/* The check of answers: right answers of hard problems pass, wrong ones are found. */
#include "kmeans.h"

/* ---- values whose squares overflow or underflow ---- */

static void is_wrong(const struct problem *p, const struct solution *s, void *unused)
{
	(void)unused;
	assert_non_null(solution_verify(p, s));
}

/* `best` scales values by a unit of its own; the ladder does not, and verification finds that. */
static int squares_out_of_range(struct team *team, void *argument)
{
	static const struct {
		enum real real;
		double factor;
		bool ladder; /* the ladder can solve it, too */
	} extremes[] = { { REAL_DOUBLE, 1e200, false },	    { REAL_DOUBLE, 1e-200, false },
			 { REAL_DOUBLE, 0x1p-1040, false }, { REAL_DOUBLE, 1e306, false },
			 { REAL_FLOAT, 1e30, false },	    { REAL_FLOAT, 1e-30, false },
			 { REAL_DOUBLE, 1e308, false },	    { REAL_DOUBLE, 1e100, true },
			 { REAL_DOUBLE, 1e-100, true } };
	struct fixture *f = argument;
	struct problem p;

	f->team = team;
	seed = 7;
	for (size_t e = 0; e < LENGTH(extremes); e++) {
		invent(&p, UNIFORMLY, extremes[e].real, 100, 2, 8);
		/* some values are far smaller than others of their cluster */
		for (size_t i = 0; i < 200; i++)
			real_set(p.points.real, p.points.x, i,
				 real_get(p.points.real, p.points.x, i) * extremes[e].factor *
					 (i % 9 ? 1 : 1e-30));
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

/* Few points: the rounding of a value to an integer is all of a mean's error. */
static int means_of_few_points(struct team *team, void *argument)
{
	static const enum kind of[] = { UNIFORMLY, CLUMPS, COLLINEAR, FAR_AWAY };
	struct fixture *f = argument;
	struct problem p;

	f->team = team;
	for (unsigned i = 0; i < cases(40 * CASES); i++) {
		const size_t n = 2 + i % 70;
		const unsigned d = 1 + i % 17, k = (unsigned)(i % 2 ? n : 1 + n / 2);

		seed = i;
		snprintf(at_hand, sizeof(at_hand), "%zu points, %u clusters, case %u", n, k, i);
		invent(&p, of[i % LENGTH(of)], i % 3 ? REAL_DOUBLE : REAL_FLOAT, n, d, k);
		solve(f, &p, 1, BEST, is_right, NULL);
		forget(&p);
	}
	return 0;
}

/* ---- wrong answers ---- */

/* A deep copy of the solution, to be corrupted. */
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
	assert_wrong(&copy, "centre 1 of 0 points"); /* this centre should not have moved */
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

WITH_TEAM(squares_out_of_range)
WITH_TEAM(means_between_doubles)
WITH_TEAM(means_of_few_points)
WITH_TEAM(wrong_answers_are_found)
WITH_TEAM(inertia_is_that_of_the_centres)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_squares_out_of_range, say_which),
		cmocka_unit_test_teardown(test_means_between_doubles, say_which),
		cmocka_unit_test_teardown(test_means_of_few_points, say_which),
		cmocka_unit_test(test_wrong_answers_are_found),
		cmocka_unit_test(test_inertia_is_that_of_the_centres),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
