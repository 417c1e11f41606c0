/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a machine throttles, and when: the rule on simulated series, and the verdict's words. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cases.h"
#include "commands/commands.h"
#include "kit/random.h"

enum { ROUNDS = 1200 };

/* The series of a test. */
static unsigned series(void)
{
	return cases(100);
}

static double uniform(uint64_t *state)
{
	return 1 - random_unit(random_mix(++*state)); /* above 0 */
}

/* With mean 0 and variance 1. */
static double normal(uint64_t *state)
{
	return sqrt(-2 * log(uniform(state))) * cos(2 * M_PI * uniform(state));
}

/*
 * Rates with noise of 1 %, half of it shared with the previous round; in 2 of 100 rounds other work
 * takes up to a half.
 */
static void steady(uint64_t seed, double *rate, unsigned rounds)
{
	double shared = 0;

	for (unsigned i = 0; i < rounds; i++) {
		shared = 0.5 * shared + 0.0087 * normal(&seed);
		rate[i] = 1e9 * exp(shared);
		if (uniform(&seed) < 0.02)
			rate[i] *= 1 - 0.5 * uniform(&seed);
	}
}

static void steady_rounds(uint64_t seed, double *rate)
{
	steady(seed, rate, ROUNDS);
}

/* Beside the other noise, rates that wander by 3 % and come back within some 20 rounds. */
static void wandering(uint64_t seed, double *rate)
{
	const double keeps = exp(-1 / 20.0);
	double way = 0;

	steady_rounds(seed, rate);
	seed ^= 0x5eed;
	for (unsigned i = 0; i < ROUNDS; i++) {
		way = keeps * way + 0.03 * sqrt(1 - keeps * keeps) * normal(&seed);
		rate[i] *= exp(way);
	}
}

/* Rounds that are slower by a share: `length` from round `at` on, and again after each `each`. */
struct fall {
	unsigned at, length, each;
	double share;
};

static void slow(double *rate, const struct fall *f)
{
	for (unsigned i = f->at; i < ROUNDS; i++)
		if ((i - f->at) % f->each < f->length)
			rate[i] *= 1 - f->share;
}

/* Slows the rates by this share from round `at` on. */
static void plant(double *rate, unsigned at, double share)
{
	slow(rate, &(struct fall){ at, ROUNDS, ROUNDS, share });
}

/* In how many series a fall is found within 5 rounds, and with its size but for `off`. */
static unsigned times_found(void (*make)(uint64_t, double *), unsigned seed, const struct fall *f,
			    double off)
{
	double rate[ROUNDS];
	unsigned found = 0;

	for (unsigned i = 1; i <= series(); i++) {
		struct throttle t;

		make(i * seed, rate);
		slow(rate, f);
		t = throttle_find(rate, ROUNDS);
		found += t.found && fabs((double)t.at - f->at) <= 5 &&
			 fabs(t.share - (1 - f->share)) < off;
	}
	print_message("%.0f %% less for %u rounds from %u on: found in %u of %u\n", 100 * f->share,
		      f->length, f->at, found, series());
	return found;
}

/* At most 5 of 100 steady machines are said to throttle. */
static void test_false_alarms(void **state)
{
	static const unsigned lengths[] = { 2 * THROTTLE_EDGE, 60, ROUNDS };
	double rate[ROUNDS];

	(void)state;
	for (size_t n = 0; n < sizeof(lengths) / sizeof(*lengths); n++) {
		unsigned alarms = 0;

		for (unsigned i = 1; i <= series(); i++) {
			steady(i * 7919, rate, lengths[n]);
			alarms += throttle_find(rate, lengths[n]).found;
		}
		print_message("%u rounds: %u of %u steady machines throttle\n", lengths[n], alarms,
			      series());
		assert_true(alarms <= series() * 5 / 100);
	}
}

/* What wanders is no throttling; a fall that is larger is found, whether it lasts or not. */
static void test_wandering(void **state)
{
	static const struct fall falls[] = { { 600, ROUNDS, ROUNDS, 0.3 },
					     { 600, 60, ROUNDS, 0.3 } };
	double rate[ROUNDS];
	unsigned alarms = 0;

	(void)state;
	for (unsigned i = 1; i <= series(); i++) {
		wandering(i * 7919, rate);
		alarms += throttle_find(rate, ROUNDS).found;
	}
	print_message("%u of %u that wander throttle\n", alarms, series());
	assert_true(alarms <= series() * 5 / 100);
	for (size_t n = 0; n < sizeof(falls) / sizeof(*falls); n++)
		assert_true(times_found(wandering, 104729, &falls[n], INFINITY) >=
			    series() * 90 / 100);
}

/* Throttling is found within 5 rounds of a second in 95 of 100 series. */
static void test_planted(void **state)
{
	static const unsigned moments[] = { 30, 600, 1170 };

	(void)state;
	for (size_t n = 0; n < sizeof(moments) / sizeof(*moments); n++) {
		const struct fall f = { moments[n], ROUNDS, ROUNDS, 0.05 };

		assert_true(times_found(steady_rounds, 104729, &f, 0.02) >= series() * 95 / 100);
	}
}

/* Of two falls, the first is reported. */
static void test_two_falls(void **state)
{
	double rate[ROUNDS];
	struct throttle t;

	(void)state;
	steady(5, rate, ROUNDS);
	plant(rate, 300, 0.05);
	plant(rate, 700, 0.20);
	t = throttle_find(rate, ROUNDS);
	assert_true(t.found && abs((int)t.at - 300) <= 5);
}

/* A fall that does not last, and one that comes again and again. */
static void test_brief_falls(void **state)
{
	static const struct fall falls[] = { { 30, 15, ROUNDS, 0.3 },
					     { 312, 30, ROUNDS, 0.3 },
					     { 700, 60, ROUNDS, 0.3 },
					     { 40, 20, 60, 0.3 } };

	(void)state;
	for (size_t n = 0; n < sizeof(falls) / sizeof(*falls); n++)
		assert_true(times_found(steady_rounds, 1299709, &falls[n], 0.05) >=
			    series() * 95 / 100);
}

/* In a soak that has just enough rounds for a verdict. */
static void test_few_rounds(void **state)
{
	double rate[ROUNDS];
	struct throttle t;

	(void)state;
	steady(17, rate, ROUNDS);
	plant(rate, 10, 0.10);
	t = throttle_find(rate, 20);
	assert_true(t.found && t.at == 10);
}

static void test_what_is_no_throttling(void **state)
{
	double rate[ROUNDS];

	(void)state;
	steady(3, rate, ROUNDS);
	plant(rate, 600, 0.01); /* too little */
	assert_false(throttle_find(rate, ROUNDS).found);
	steady(3, rate, ROUNDS);
	plant(rate, 600, -0.10); /* it became faster */
	assert_false(throttle_find(rate, ROUNDS).found);
	steady(3, rate, ROUNDS);
	rate[50] = 0; /* a round without a CPU */
	assert_false(throttle_find(rate, ROUNDS).found);
	assert_false(throttle_find(rate, 2 * THROTTLE_EDGE - 1).known);
	assert_false(throttle_find(rate, 0).known);
}

/* ---- the verdict ---- */

static struct soak_round rounds[ROUNDS];

/* Rounds of a second; clock and temperature follow the work, and power is unknown. */
static struct soak_rounds soak_of(unsigned at, double share)
{
	double rate[ROUNDS], other[ROUNDS];

	steady(11, rate, ROUNDS);
	steady(12, other, ROUNDS);
	plant(rate, at, share);
	for (unsigned i = 0; i < ROUNDS; i++)
		rounds[i] = (struct soak_round){ .at = i + 1,
						 .rate = { rate[i], 10 * other[i] },
						 .clock = i < at ? 3e9 : 2.5e9,
						 .temperature = i < at ? 80 : 97,
						 .power = NAN };
	return (struct soak_rounds){
		.round = rounds,
		.n = ROUNDS,
		.load = { { .name = "cores/together", .unit = "quantum/s" },
			  { .name = "numa/static", .unit = "B/s" } },
		.loads = 2,
		.no_temperature = "",
		.no_power = "no RAPL",
	};
}

/* The verdict's text, valid until the next call. */
static const char *judged(const struct soak_rounds *of, int *status)
{
	static char text[4096];
	FILE *f = fmemopen(text, sizeof(text), "w");

	assert_non_null(f);
	*status = soak_judge(of, f);
	fclose(f);
	return text;
}

static void test_verdict(void **state)
{
	struct soak_rounds of = soak_of(312, 0.08);
	const char *text;
	double after;
	json_t *line;
	int status;

	(void)state;
	text = judged(&of, &status);
	assert_int_equal(status, 1);
	assert_int_equal(sscanf(text, "cores/together: throttles after %lf s: ", &after), 1);
	assert_true(fabs(after - 312) <= 5);
	assert_non_null(strstr(text, "less than 998"));
	assert_non_null(strstr(text, "; temperature 80"));
	assert_null(strstr(text, "power"));
	assert_non_null(strstr(text, "numa/static: steady for 20 min: "));
	line = soak_verdict_json(&of);
	assert_string_equal(json_string_value(json_object_get(
				    json_array_get(json_object_get(line, "loads"), 0), "verdict")),
			    "throttles");
	assert_string_equal(json_string_value(json_object_get(line, "power_why")), "no RAPL");
	json_decref(line);
	assert_null(strstr(text, "at the end"));
	for (unsigned i = 900; i < ROUNDS; i++)
		rounds[i].rate[0] *= 0.8;
	text = judged(&of, &status);
	assert_non_null(strstr(text, "; at the end 2"));
	for (unsigned i = 400; i < ROUNDS; i++)
		rounds[i].rate[0] = 1e9;
	assert_non_null(strstr(judged(&of, &status), "; no longer at the end\n"));
	of = soak_of(ROUNDS, 0);
	text = judged(&of, &status);
	assert_int_equal(status, 0);
	of.n = 12;
	text = judged(&of, &status);
	assert_int_equal(status, 4);
	assert_non_null(strstr(text, "too short for a verdict: 12 of 20 rounds"));
	for (unsigned i = 0; i < ROUNDS; i++)
		rounds[i].rate[0] *= i % 2 ? 3 : 1;
	of.n = 60;
	text = judged(&of, &status);
	assert_int_equal(status, 4);
	assert_non_null(strstr(text, "cores/together: cannot tell"));
	of.loads = 0; /* it ended before its loads had begun */
	text = judged(&of, &status);
	assert_int_equal(status, 4);
}

/* An error is graver than any throttling. */
static void test_errors(void **state)
{
	struct soak_rounds of = soak_of(ROUNDS, 0);
	json_t *before = json_pack("{s:i, s:i, s:n}", "corrected", 5, "uncorrected", 1,
				   "machine_checks"),
	       *after = json_pack("{s:i, s:i, s:i}", "corrected", 8, "uncorrected", 1,
				  "machine_checks", 4);
	const char *text;
	int status;

	(void)state;
	of.errors = soak_errors_since(before, after);
	text = judged(&of, &status);
	assert_non_null(strstr(text, "hardware errors during the soak: corrected: 3\n"));
	assert_null(strstr(text, "machine_checks"));
	assert_int_equal(status, 0);
	json_decref(of.errors);
	json_object_set_new(after, "uncorrected", json_integer(2));
	of.errors = soak_errors_since(before, after);
	judged(&of, &status);
	assert_int_equal(status, 1);
	json_decref(of.errors);
	of.errors = NULL;
	of.load[0].wrong = "CPU 3 computes wrong";
	of.load[1].failure = "no thread";
	text = judged(&of, &status);
	assert_int_equal(status, 1);
	assert_non_null(strstr(text, "cores/together: WRONG: CPU 3 computes wrong: take"));
	assert_non_null(strstr(text, "numa/static: failed: no thread\n"));
	json_decref(before);
	json_decref(after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_false_alarms),
		cmocka_unit_test(test_wandering),
		cmocka_unit_test(test_planted),
		cmocka_unit_test(test_two_falls),
		cmocka_unit_test(test_brief_falls),
		cmocka_unit_test(test_few_rounds),
		cmocka_unit_test(test_what_is_no_throttling),
		cmocka_unit_test(test_verdict),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
