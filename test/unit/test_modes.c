/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two modes: small cases by hand; and by simulation, how often one mode is taken for two, and how
 * often two are found. With CASES=1000 it prints the table of doc/methods/measuring.md.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/arithmetic.h"
#include "base/statistics.h"
#include "cases.h"

enum { MOST_ALLOCATIONS = 48, MOST_SAMPLES = 60, MOST = MOST_ALLOCATIONS * MOST_SAMPLES };

static double uniform(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double)(*state >> 11) / 0x1p53;
}

static double normal(uint64_t *state)
{
	return sqrt(-2 * log(1 - uniform(state))) * cos(2 * M_PI * uniform(state));
}

static double exponential(uint64_t *state)
{
	return -log(1 - uniform(state));
}

static double skewed(uint64_t *state) /* Weibull, of shape 1/2 */
{
	const double x = exponential(state);

	return x * x;
}

static double t2(uint64_t *state) /* Student's t, with 2 degrees of freedom */
{
	const double u = 2 * uniform(state) - 1;

	return u * sqrt(2 / (1 - u * u));
}

/* Logarithms of times: the contributions of each sample and allocation, and of a random walk. */
struct population {
	const char *name;
	double (*of_sample)(uint64_t *);
	double sample;
	double (*of_allocation)(uint64_t *);
	double allocation, keeps; /* the next allocation keeps `keeps` of it */
	double step, leap;	  /* steps of the walk: between samples, and between allocations */
	/* a second mode is higher by `up`; the shares of samples, or of allocations, in it */
	double up, share, share_of_allocations;
};

static size_t draw(const struct population *p, unsigned allocations, unsigned samples, double *x,
		   unsigned *allocation, uint64_t *seed)
{
	double walk = 0, own = 0, up;
	size_t n = 0;

	for (unsigned a = 0; a < allocations; a++) {
		own *= p->keeps;
		own += p->of_allocation ? p->allocation * p->of_allocation(seed) : 0;
		walk += p->leap * normal(seed);
		up = uniform(seed) < p->share_of_allocations ? p->up : 0;
		for (unsigned i = 0; i < samples; i++) {
			walk += p->step * normal(seed);
			x[n] = own + up + walk + p->sample * p->of_sample(seed) +
			       (uniform(seed) < p->share ? p->up : 0);
			x[n] = exp(x[n]);
			allocation[n++] = a;
		}
	}
	return n;
}

/*
 * The shares of trials with modes of samples, with modes of allocations, and with one or two
 * changes.
 */
struct rates {
	double of_samples, of_allocations, changed;
};

static struct rates rates_of(const struct population *p, unsigned allocations, unsigned samples,
			     unsigned turns, uint64_t *seed)
{
	static double x[MOST];
	static unsigned allocation[MOST];
	struct rates r = { 0 };

	for (unsigned t = 0; t < turns; t++) {
		const size_t n = draw(p, allocations, samples, x, allocation, seed);
		const struct modes m = modes_find(x, allocation, n);

		r.of_samples += m.of == MODES_OF_SAMPLES;
		r.of_allocations += m.of == MODES_OF_ALLOCATIONS;
		r.changed += m.after > 0;
	}
	r.of_samples /= turns;
	r.of_allocations /= turns;
	r.changed /= turns;
	return r;
}

enum { TURNS = 100 };

/* A sanitizer sees the same arithmetic each time: with one, at most a tenth. */
static unsigned turns_of(unsigned n)
{
	const unsigned tried = cases(n);

	return tried < n && tried > n / 10 ? n / 10 : tried;
}

static const unsigned allocations_of[] = { 6, 12, 18, 24, 48 }, samples_of[] = { 4, 14, 60 };

/* At most 5 % of trials with one mode are called bimodal, whatever their size. */
static void test_one_mode_is_not_taken_for_two(void **state)
{
	static const struct population populations[] = {
		{ "normal 2 %", normal, 0.02 },
		{ "normal 10 %", normal, 0.1 },
		{ "lognormal 50 %", normal, 0.5 },
		{ "lognormal 100 %", normal, 1 },
		{ "exponential 5 %", exponential, 0.05 },
		{ "exponential 50 %", exponential, 0.5 },
		{ "skewed 2 %", skewed, 0.02 },
		{ "skewed 10 %", skewed, 0.1 },
		{ "t2 2 %", t2, 0.02 },
		{ "allocations 3 %", normal, 0.005, normal, 0.03 },
		{ "allocations 5 %", normal, 0.005, normal, 0.05 },
		{ "allocations 10 %", normal, 0.005, normal, 0.1 },
		{ "allocations 10 %, samples 2 %", normal, 0.02, normal, 0.1 },
		{ "allocations 10 %, samples skewed 2 %", skewed, 0.02, normal, 0.1 },
		{ "allocations 10 %, AR(1) of 0.5", normal, 0.005, normal, 0.0866, .keeps = 0.5 },
		{ "allocations 10 %, AR(1) of 0.9", normal, 0.005, normal, 0.0436, .keeps = 0.9 },
		{ "allocations exponential 10 %", normal, 0.005, exponential, 0.1 },
		{ "allocations exponential 30 %", normal, 0.005, exponential, 0.3 },
		{ "allocations skewed 5 %", normal, 0.005, skewed, 0.05 },
		{ "allocations t2 5 %", normal, 0.005, t2, 0.05 },
		{ "walk 1 % a sample", normal, 0, .step = 0.01 },
		{ "walk 3 % a sample", normal, 0.01, .step = 0.03 },
		{ "walk 0.3 % a sample", normal, 0.01, .step = 0.003 },
		{ "walk 3 % an allocation", normal, 0.005, .leap = 0.03 },
		{ "walk 10 % an allocation", normal, 0.02, .leap = 0.1 },
	};
	const unsigned turns = turns_of(TURNS);
	uint64_t seed = 1;

	(void)state;
	for (size_t i = 0; i < LENGTH(populations); i++) {
		double bimodal = 0, changed = 0;

		for (size_t a = 0; a < LENGTH(allocations_of); a++)
			for (size_t s = 0; s < LENGTH(samples_of); s++) {
				const struct rates r = rates_of(&populations[i], allocations_of[a],
								samples_of[s], turns, &seed);

				bimodal = fmax(bimodal, r.of_samples + r.of_allocations);
				changed = fmax(changed, r.changed);
			}
		print_message("# %s: at most %.1f %% bimodal, %.1f %% changed\n",
			      populations[i].name, 100 * bimodal, 100 * changed);
		/* few turns, on an emulator: two more than on average */
		assert_true(bimodal <= 0.05 + fmax(0.4 / sqrt(turns), 2.0 / turns));
	}
}

/* Modes of 30 % within allocations are found in 95 % of trials, from 80 samples on. */
static void test_modes_within_allocations_are_found(void **state)
{
	static const struct population populations[] = {
		{ "samples 30/70, +30 %", normal, 0.02, .up = 0.262, .share = 0.3 },
		{ "samples 50/50, +30 %, allocations 2 %", normal, 0.02, normal, 0.02, .up = 0.262,
		  .share = 0.5 },
		{ "samples 30/70, +30 %, of 4 %", normal, 0.04, .up = 0.262, .share = 0.3 },
	};
	const unsigned turns = turns_of(TURNS);
	uint64_t seed = 2;

	(void)state;
	for (size_t i = 0; i < LENGTH(populations); i++) {
		double least = 1;

		for (size_t a = 0; a < LENGTH(allocations_of); a++)
			for (size_t s = 0; s < LENGTH(samples_of); s++)
				if (allocations_of[a] * samples_of[s] >= 80)
					least = fmin(least,
						     rates_of(&populations[i], allocations_of[a],
							      samples_of[s], turns, &seed)
							     .of_samples);
		print_message("# %s: at least %.1f %% found\n", populations[i].name, 100 * least);
		assert_true(least >= 0.95 - 0.3 / sqrt(turns));
	}
}

/*
 * Modes between allocations, 30/70 at +10 %, are found in 70 % of trials after 12 allocations, and
 * in 90 % after 24.
 */
static void test_modes_between_allocations_are_found(void **state)
{
	static const struct population populations[] = {
		{ "allocations 30/70, +10 %, of 0.5 %", normal, 0.005, normal, 0.005, .up = 0.0953,
		  .share_of_allocations = 0.3 },
		{ "allocations 30/70, +10 %, of 1 %", normal, 0.005, normal, 0.01, .up = 0.0953,
		  .share_of_allocations = 0.3 },
		{ "allocations 50/50, +10 %, of 1 %", normal, 0.005, normal, 0.01, .up = 0.0953,
		  .share_of_allocations = 0.5 },
	};
	static const double least[] = { 0, 0.7, 0.7, 0.9, 0.9 };
	const unsigned turns = turns_of(4 * TURNS);
	uint64_t seed = 3;

	(void)state;
	for (size_t i = 0; i < LENGTH(populations); i++)
		for (size_t a = 1; a < LENGTH(allocations_of); a++)
			for (size_t s = 0; s < LENGTH(samples_of); s++) {
				const struct rates r = rates_of(&populations[i], allocations_of[a],
								samples_of[s], turns, &seed);

				print_message("# %s, %u allocations of %u samples: %.1f %% found, "
					      "%.1f %% changed\n",
					      populations[i].name, allocations_of[a], samples_of[s],
					      100 * r.of_allocations, 100 * r.changed);
				assert_true(r.of_allocations >= least[a] - 1.2 / sqrt(turns));
			}
}

/* ---- by hand ---- */

/* Each allocation has one value, 'a' or 'b', in `samples` samples. */
static struct modes of_text(const char *text, unsigned samples)
{
	static double x[MOST];
	static unsigned allocation[MOST];
	size_t n = 0;

	for (unsigned a = 0; text[a]; a++)
		for (unsigned i = 0; i < samples; i++) {
			x[n] = (text[a] == 'a' ? 1 : 1.5) * (1 + 0.0001 * ((a * 7 + i) % 10));
			allocation[n++] = a;
		}
	return modes_find(x, allocation, n);
}

static void test_a_change_in_time_is_not_two_modes(void **state)
{
	static const struct {
		const char *text;
		enum modes_of of;
		unsigned after, back;
	} table[] = {
		{ "aaaaaaaaaaaaaaaabbbbbbbb", MODES_NONE, 16, 0 },
		{ "bbbbbbaaaaaa", MODES_NONE, 6, 0 },
		{ "aaaabbbbaaaa", MODES_NONE, 4, 8 },
		{ "aabaabaabaaa", MODES_OF_ALLOCATIONS, 0, 0 },
		{ "aabaabaabaa", MODES_NONE, 0, 0 },		  /* fewer than 12 */
		{ "aabaaaaabaaa", MODES_NONE, 0, 0 },		  /* fewer than three */
		{ "aabaaaaabaaaaaaaaaaabaaa", MODES_NONE, 0, 0 }, /* and fewer than a sixth */
		{ "aaaaaaaaaaaa", MODES_NONE, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++)
		for (unsigned samples = 1; samples < 20; samples += 9) {
			const struct modes m = of_text(table[i].text, samples);

			assert_int_equal(m.of, table[i].of);
			assert_int_equal(m.after, table[i].after);
			assert_int_equal(m.back, table[i].back);
		}
	assert_float_equal(of_text("aabaabaabaaa", 3).share[0], 0.75, 1e-9);
	assert_float_equal(of_text("aabaabaabaaa", 3).value[0], 1, 0.001);
	assert_float_equal(of_text("aabaabaabaaa", 3).value[1], 1.5, 0.001);
}

/* Samples of 1 and 1 + `up` in turn, two low ones to one high. */
static struct modes in_turn(unsigned allocations, unsigned samples, double up)
{
	static double x[MOST];
	static unsigned allocation[MOST];
	size_t n = 0;

	for (unsigned a = 0; a < allocations; a++)
		for (unsigned i = 0; i < samples; i++) {
			x[n] = (1 + (n % 3 == 2) * up) * (1 + 0.0001 * (double)(n % 10));
			allocation[n++] = a;
		}
	return modes_find(x, allocation, n);
}

static void test_modes_of_samples(void **state)
{
	(void)state;
	assert_int_equal(in_turn(6, 15, 0.5).of, MODES_OF_SAMPLES);
	assert_int_equal(in_turn(2, 48, 0.5).of, MODES_OF_SAMPLES);
	assert_float_equal(in_turn(6, 15, 0.5).share[1], 1 / 3.0, 1e-9);
	assert_float_equal(in_turn(6, 15, 0.5).value[1], 1.5, 0.001);
	assert_int_equal(in_turn(6, 13, 0.5).of, MODES_NONE);  /* fewer than 80 */
	assert_int_equal(in_turn(6, 15, 0.03).of, MODES_NONE); /* the record shows one value */
	assert_int_equal(modes_find(NULL, NULL, 0).of, MODES_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_modes_of_samples),
		cmocka_unit_test(test_a_change_in_time_is_not_two_modes),
		cmocka_unit_test(test_one_mode_is_not_taken_for_two),
		cmocka_unit_test(test_modes_within_allocations_are_found),
		cmocka_unit_test(test_modes_between_allocations_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
