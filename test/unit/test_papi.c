/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counting with PAPI: passes, threads, multiplexing, packages. A stand-in for the library
 * (test/stand-in/papi.c) returns known counts, and aborts if PAPI's rules are broken.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "count/counters.h"
#include "count/event.h"
#include "count/papi.h"
#include "machine/threads/team.h"
#include "seats.h"

#ifdef HAVE_PAPI

#include "papi_stand_in.h"

static void test_events_of_a_set(void **state)
{
	struct counters *c =
		OPEN("", false, "PAPI_TOT_INS", "faults", "PAPI_TOT_CYC", "standin::NATIVE");
	static const char *const sources[] = { "papi", "kernel", "papi", "papi" };
	const char *reason = "x";

	(void)state;
	assert_int_equal(counters_passes(c), 1);
	assert_string_equal(counters_library(c, &reason), LOCUS_PAPI_VERSION);
	assert_null(reason);
	for (unsigned i = 0; i < LENGTH(sources); i++) {
		const struct event *e = counters_event(c, i);

		assert_string_equal(e->source, sources[i]);
		assert_string_equal(e->unit, "1");
		assert_int_equal(e->scope, SCOPE_THREAD);
		assert_true(e->proven);
		assert_null(e->why);
	}
	assert_true(isnan(counters_value(c, 0, 0))); /* nothing was counted yet */
	counters_close(c);
}

/* All workers count at once, each with its own event set. */
static int each_its_own(struct team *t, void *argument)
{
	struct counters *c = argument;
	bool seen[THREADS] = { false };

	seat(t, THREADS);
	for (unsigned turn = 0; turn < 100; turn++) {
		start(c, t, 0);
		team_time(t, nothing, NULL, 0, 0, 0);
		memset(seen, 0, sizeof(seen));
		for (unsigned i = 0; i < THREADS; i++) {
			double thread = counters_value(c, i, 0) - 1000 * INSTRUCTIONS;

			assert_true(thread >= 0 && thread < THREADS && (i > 0 || thread == 0));
			assert_false(seen[(unsigned)thread]);
			seen[(unsigned)thread] = true;
			assert_true(counters_value(c, i, 1) == 1000 * L3 + thread);
			assert_true(counters_value(c, i, 2) == 0);
		}
		counters_stop(c, t);
	}
	/* sets that are not started are not read: the stand-in would abort */
	team_time(t, nothing, NULL, 0, 0, 0);
	return 0;
}

static void test_each_thread_counts_its_own(void **state)
{
	struct counters *c = OPEN("", false, "PAPI_TOT_INS", "PAPI_L3_TCM", "major-faults");

	(void)state;
	assert_int_equal(team_open(THREADS, each_its_own, c), 0);
	counters_close(c);
}

static void test_more_events_than_counters_take_passes(void **state)
{
	struct counters *c = OPEN("counters=2", false, "PAPI_TOT_INS", "PAPI_TOT_CYC",
				  "PAPI_L1_DCM", "faults", "PAPI_L2_DCM", "PAPI_L3_TCM");
	static const unsigned pass[] = { 0, 0, 1, 0, 1, 2 };

	(void)state;
	assert_int_equal(counters_passes(c), 3);
	for (unsigned i = 0; i < LENGTH(pass); i++) {
		assert_int_equal(counters_event(c, i)->pass, pass[i]);
		assert_true(counters_event(c, i)->proven);
	}
	counters_close(c);
}

static int one_pass(struct team *t, void *argument)
{
	struct counters *c = argument;

	seat(t, THREADS);
	start(c, t, 1);
	team_time(t, nothing, NULL, 0, 0, 0);
	assert_true(isnan(counters_value(c, 0, 0)));
	assert_true(counters_value(c, 0, 1) == 1000 * CYCLES);
	assert_true(isnan(counters_value(c, THREADS, 1)) && isnan(counters_value(c, 0, 99)));
	counters_stop(c, t);
	return 0;
}

static void test_a_pass_counts_nothing_of_another(void **state)
{
	struct counters *c = OPEN("counters=1", false, "PAPI_TOT_INS", "PAPI_TOT_CYC");

	(void)state;
	assert_int_equal(counters_passes(c), 2);
	assert_int_equal(team_open(THREADS, one_pass, c), 0);
	counters_close(c);
}

static void test_multiplexed_only_when_asked(void **state)
{
	struct counters *c = OPEN("counters=1", true, "PAPI_TOT_INS", "PAPI_TOT_CYC", "PAPI_L1_DCM",
				  "imc::READS");

	(void)state;
	assert_int_equal(counters_passes(c), 1);
	counters_close(c);
}

/*
 * A multiplexed estimate may fall: the negative difference is part of the sum. Before an event's
 * first turn there is no value.
 */
static int falling(struct team *t, void *argument)
{
	struct counters *c = argument;

	seat(t, THREADS);
	start(c, t, 0);
	for (unsigned turn = 0; turn < 3; turn++) {
		team_time(t, nothing, NULL, 0, 0, 0);
		assert_true(counters_value(c, 0, 0) == 1000 * INSTRUCTIONS);
		assert_true(turn ? counters_value(c, 0, 1) == -1000 * CYCLES
				 : isnan(counters_value(c, 0, 1)));
	}
	counters_stop(c, t);
	return 0;
}

static void test_what_takes_turns_may_fall(void **state)
{
	struct counters *c =
		OPEN("counters=1 falls=PAPI_TOT_CYC", true, "PAPI_TOT_INS", "PAPI_TOT_CYC");

	(void)state;
	assert_int_equal(counters_passes(c), 1);
	assert_int_equal(team_open(THREADS, falling, c), 0);
	counters_close(c);
}

/* With multiplexing perf counts it or, without a PMU, nobody does; PAPI is no fallback. */
static void test_what_takes_turns_is_perfs_where_it_knows_the_name(void **state)
{
	static const struct {
		bool multiplex, papis;
	} rows[] = { { false, true }, { true, false } };

	(void)state;
	for (unsigned i = 0; i < LENGTH(rows); i++) {
		struct counters *c = OPEN("", rows[i].multiplex, "perf::CYCLES", "PAPI_TOT_CYC");
		const char *source = counters_event(c, 0)->source;

		assert_int_equal(source && !strcmp(source, "papi"), rows[i].papis);
		assert_string_equal(counters_event(c, 1)->source, "papi");
		counters_close(c);
	}
}

static void test_what_a_package_counts_is_counted_once(void **state)
{
	struct counters *c =
		OPEN("counters=1", false, "imc::READS", "rapl:::PACKAGE_ENERGY:PACKAGE0",
		     "rapl:::PACKAGE_ENERGY:PACKAGE1", "net:::lo:rx:bytes", "PAPI_TOT_INS",
		     "rapl::RAPL_ENERGY_PKG");
	static const char *const units[] = { "1", "J", "J", "B", "1", "J" };

	(void)state;
	assert_int_equal(counters_passes(c), 1); /* components do not share counters */
	for (unsigned i = 0; i < LENGTH(units); i++) {
		assert_string_equal(counters_event(c, i)->unit, units[i]);
		assert_int_equal(counters_event(c, i)->scope,
				 i == 4 ? SCOPE_THREAD : SCOPE_PACKAGE);
	}
	/*
	 * All workers sit on one CPU, and worker 0 counts for its package. No worker sits on the
	 * other package: worker 0 counts for it, too.
	 */
	check((struct expected[]){ { c, 0, 0, { 1000 * READS + a_cpu(), NAN, NAN } },
				   { c, 0, 1, { 1000 * PACKAGE_0 * 1e-9, NAN, NAN } },
				   { c, 0, 2, { 1000 * PACKAGE_1 * 1e-9, NAN, NAN } },
				   { c, 0, 3, { 1000 * NET, NAN, NAN } },
				   { c, 0, 5, { ldexp(1000 * ENERGY + a_cpu(), -32), NAN, NAN } },
				   { .c = NULL } });
	counters_close(c);
}

static void test_packages_in_names(void **state)
{
	const struct {
		const char *name;
		int package;
	} rows[] = { { "rapl:::PACKAGE_ENERGY:PACKAGE0", 0 },
		     { "rapl:::PACKAGE_ENERGY:PACKAGE1", 1 },
		     { "imc::READS:cpu=0", package_of(0) },
		     { "imc::READS", PACKAGE_EACH },
		     { "net:::lo:rx:bytes", PACKAGE_NODE } };
	struct reason reason;
	void *library;

	(void)state;
	setenv("PAPI_STAND_IN", "", 1);
	library = papi_provider.open(false, &reason);
	assert_non_null(library);
	for (unsigned i = 0; i < LENGTH(rows); i++) {
		struct wanted w = { .event = { .name = rows[i].name } };

		assert_true(papi_provider.find(library, &w, &reason));
		assert_int_equal(w.event.scope, SCOPE_PACKAGE);
		assert_int_equal(w.event.package, rows[i].package);
	}
	papi_provider.close(library);
}

static void test_a_cpu_in_the_name_needs_no_other(void **state)
{
	struct counters *c = OPEN("", false, "imc::READS:cpu=0", "imc::WRITES");

	(void)state;
	assert_int_equal(counters_passes(c), 1);
	assert_string_equal(counters_event(c, 0)->source, "papi");
	assert_string_equal(counters_event(c, 1)->source, "papi");
	counters_close(c);
}

static void test_an_event_that_reads_zero_is_not_proven(void **state)
{
	struct counters *c =
		OPEN("zero=PAPI_L3_TCM", false, "PAPI_L3_TCM", "PAPI_TOT_INS", "major-faults");

	(void)state;
	assert_false(counters_event(c, 0)->proven);
	assert_string_equal(counters_event(c, 0)->source, "papi");
	assert_true(counters_event(c, 1)->proven);
	/* a thread may have no major faults: a zero from the kernel counts as proven */
	assert_true(counters_event(c, 2)->proven);
	counters_close(c);
}

int main(int n, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events_of_a_set),
		cmocka_unit_test(test_each_thread_counts_its_own),
		cmocka_unit_test(test_more_events_than_counters_take_passes),
		cmocka_unit_test(test_a_pass_counts_nothing_of_another),
		cmocka_unit_test(test_multiplexed_only_when_asked),
		cmocka_unit_test(test_what_takes_turns_may_fall),
		cmocka_unit_test(test_what_takes_turns_is_perfs_where_it_knows_the_name),
		cmocka_unit_test(test_what_a_package_counts_is_counted_once),
		cmocka_unit_test(test_packages_in_names),
		cmocka_unit_test(test_a_cpu_in_the_name_needs_no_other),
		cmocka_unit_test(test_an_event_that_reads_zero_is_not_proven),
	};

	(void)n;
	return stand_in(arguments[0]) ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}

#else

static void test_says_that_it_was_built_without(void **state)
{
	const char *const names[] = { "PAPI_TOT_INS", "faults" }, *why;
	struct counters *c = counters_open(names, 2, false);
	char version[32];
	struct reason reason;

	(void)state;
	assert_non_null(c);
	assert_non_null(
		strstr(counters_event(c, 0)->why, "built without PAPI: ./configure --with-papi"));
	assert_null(counters_library(c, &why));
	assert_string_equal(why, "built without PAPI");
	assert_string_equal(counters_event(c, 1)->source, "kernel");
	counters_close(c);
	assert_int_equal(papi_presets(version, &reason), 0);
	assert_string_equal(reason.what, "built without PAPI");
	assert_string_equal(version, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_says_that_it_was_built_without) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
