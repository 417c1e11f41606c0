/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counting with PAPI: passes, threads, packages, reasons. A stand-in for the library
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

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

#ifdef HAVE_PAPI

enum { THREADS = 3 };

/* Rows of the stand-in's table. */
enum {
	CYCLES = 1,
	INSTRUCTIONS,
	L1,
	L2,
	L3,
	TLB,
	READS = 20,
	PACKAGE_0 = 23,
	PACKAGE_1,
	NET = 26,
	ENERGY
};

static struct counters *opened(const char *told, bool multiplex, unsigned n,
			       const char *const *names)
{
	struct counters *c;

	setenv("PAPI_STAND_IN", told, 1);
	c = counters_open(names, n, multiplex);
	assert_non_null(c);
	assert_int_equal(counters_events(c), n);
	return c;
}

#define OPEN(told, multiplex, ...)                                              \
	opened(told, multiplex, LENGTH(((const char *const[]){ __VA_ARGS__ })), \
	       (const char *const[]){ __VA_ARGS__ })

static const char *why(const struct counters *c, unsigned event)
{
	const struct event *e = counters_event(c, event);

	assert_true(!e->source == !!e->why);
	assert_false(!e->source && e->proven);
	return e->why ? e->why : "";
}

static void assert_says(const char *text, const char *word)
{
	if (!strstr(text, word))
		fail_msg("\"%s\" does not say \"%s\"", text, word);
	assert_null(strchr(text, '\n'));
}

static void nothing(void *argument, struct worker *w)
{
	(void)argument, (void)w;
}

/* The count of each worker in each task; NAN: the worker does not count this event. */
struct expected {
	struct counters *c;
	unsigned pass, event;
	double count[THREADS];
};

static void check_one(struct team *t, const struct expected *e)
{
	start(e->c, t, e->pass);
	for (unsigned turn = 0; turn < 3; turn++) {
		team_time(t, nothing, NULL, 0, 0, 0);
		for (unsigned i = 0; i < THREADS; i++) {
			double value = counters_value(e->c, i, e->event);

			assert_true(isnan(e->count[i]) ? isnan(value) : value == e->count[i]);
		}
	}
	counters_stop(e->c, t);
}

static int check_all(struct team *t, void *argument)
{
	seat(t, THREADS);
	for (const struct expected *e = argument; e->c; e++)
		check_one(t, e);
	return 0;
}

/* Checks on a team. The stand-in numbers threads as they register; only worker 0's is certain. */
static void check(struct expected *e)
{
	assert_int_equal(team_open(THREADS, check_all, e), 0);
}

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
 * A multiplexed estimate may fall: the negative difference is part of the sum. Before an event had
 * its first turn there is no value.
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

/* With multiplexing perf counts it or, without a PMU, nobody; PAPI is no fallback. */
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

static void test_too_few_file_descriptors(void **state)
{
	struct counters *c = OPEN("files=PAPI_TOT_CYC", false, "PAPI_TOT_CYC", "PAPI_TOT_INS");

	(void)state;
	assert_says(why(c, 0),
		    "too few file descriptors: an event takes one for each thread: ulimit -n ");
	assert_string_equal(counters_event(c, 1)->source, "papi");
	counters_close(c);
}

static void test_likwid_has_the_counters(void **state)
{
	struct counters *c;

	(void)state;
	setenv("LIKWID_MODE", "1", 1);
	c = OPEN("", false, "PAPI_TOT_INS", "perf::CYCLES", "imc::READS", "faults");
	for (unsigned i = 0; i < 3; i++) {
		assert_says(why(c, i), "likwid-perfctr uses the processor's counters");
		assert_says(why(c, i), "likwid-perfctr -g");
	}
	assert_string_equal(counters_event(c, 3)->source, "kernel");
	assert_null(counters_library(c, NULL));
	counters_close(c);
	unsetenv("LIKWID_MODE");
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
	 * other package: worker 0 counts that, too.
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

static void test_reasons(void **state)
{
	struct counters *c = OPEN("absent=PAPI_FP_OPS denied=PAPI_L1_DCM denied=imc::READS off=net",
				  false, "PAPI_FP_OPS", "PAPI_TOT_IMS", "PAPI_L1_DCM", "imc::READS",
				  "net:::lo:rx:bytes", "cuda:::x", "rapl:::THERMAL_SPEC:PACKAGE0",
				  "standin::NATIV", "falts");
	static const char *const words[][2] = {
		{ "can't count it on this processor", "papi_avail" },
		{ "no event of this name", "did you mean PAPI_TOT_INS?" },
		{ "", "" }, /* depends on this machine: only its length is checked below */
		{ "forb", ": " },
		{ "switched off by its stand-in", "papi_component_avail" },
		{ "without the component", "--with-components" },
		{ "a level in W", "not a count" },
		{ "no event of this name", "did you mean standin::NATIVE?" },
		{ "no event of this name", "did you mean faults?" },
	};

	(void)state;
	assert_int_equal(counters_passes(c), 0);
	for (unsigned i = 0; i < LENGTH(words); i++) {
		assert_null(counters_event(c, i)->source);
		assert_says(why(c, i), words[i][0]);
		assert_says(why(c, i), words[i][1]);
	}
	assert_true(strlen(why(c, 2)) > 20);
	counters_close(c);
}

static void test_without_counters_of_the_processor(void **state)
{
	struct counters *c = OPEN("off=perf_event", false, "PAPI_TOT_INS", "skx::NATIVE",
				  "rapl:::PACKAGE_ENERGY:PACKAGE0", "perf::PAGE-FAULT");
	char version[32];
	struct reason reason;

	(void)state;
	assert_says(why(c, 0), "perf_event is off");
	assert_says(why(c, 0), "switched off by its stand-in");
	assert_null(strstr(why(c, 0), "did you mean"));
	assert_says(why(c, 1), "perf_event is off");
	assert_string_equal(counters_event(c, 2)->source, "papi");
	assert_says(why(c, 3), "did you mean perf::PAGE-FAULTS?");
	counters_close(c);
	assert_int_equal(papi_presets(version, &reason), 0);
	assert_string_equal(version, LOCUS_PAPI_VERSION);
	assert_says(reason.what, "switched off by its stand-in");
}

static void test_another_version(void **state)
{
	struct counters *c = OPEN("version=1.2", false, "PAPI_TOT_INS", "faults");
	const char *reason;

	(void)state;
	assert_says(why(c, 0), "another version");
	assert_says(why(c, 0), "./configure");
	assert_null(counters_library(c, &reason));
	assert_says(reason, "another version");
	assert_int_equal(counters_passes(c), 1); /* the kernel's */
	counters_close(c);
}

static void test_nothing_is_loaded_that_is_not_needed(void **state)
{
	struct counters *c = OPEN("version=1.2", false, "faults", "cpu-time");
	const char *reason;

	(void)state;
	assert_null(counters_library(c, &reason));
	assert_null(strstr(reason, "version"));
	assert_null(counters_library(c, NULL));
	counters_close(c);
}

/* An event that fails to start does not stop the others, and is tried again at each start. */
static int late(struct team *t, void *argument)
{
	struct counters *c = argument;

	seat(t, THREADS);
	for (unsigned turn = 0; turn < 2; turn++) {
		start(c, t, 0);
		assert_null(counters_failure(c, 0));
		assert_says(counters_failure(c, 1), "no counter of the processor is free");
		team_time(t, nothing, NULL, 0, 0, 0);
		assert_true(counters_value(c, 0, 0) == 1000 * INSTRUCTIONS);
		assert_true(counters_value(c, 0, 1) == 1000 * TLB);
		for (unsigned i = 1; i < THREADS; i++)
			assert_true(counters_value(c, i, 0) > 0 && isnan(counters_value(c, i, 1)));
		counters_stop(c, t);
	}
	setenv("PAPI_STAND_IN", "", 1);
	start(c, t, 0);
	assert_null(counters_failure(c, 1));
	counters_stop(c, t);
	return 0;
}

static void test_what_can_not_be_started_on_a_worker(void **state)
{
	struct counters *c = OPEN("late=PAPI_TLB_DM", false, "PAPI_TOT_INS", "PAPI_TLB_DM");

	(void)state;
	assert_string_equal(counters_event(c, 1)->source, "papi");
	assert_int_equal(team_open(THREADS, late, c), 0);
	counters_close(c);
}

static void test_what_can_not_be_read_is_no_number(void **state)
{
	struct counters *c =
		OPEN("broken=PAPI_L2_DCM counters=1", false, "PAPI_TOT_INS", "PAPI_L2_DCM");

	(void)state;
	assert_false(counters_event(c, 1)->proven);
	check((struct expected[]){ { c, 1, 1, { NAN, NAN, NAN } }, { .c = NULL } });
	counters_close(c);
}

static void test_presets(void **state)
{
	char version[32];
	struct reason reason;
	unsigned n, fewer;

	(void)state;
	setenv("PAPI_STAND_IN", "", 1);
	n = papi_presets(version, &reason);
	assert_string_equal(version, LOCUS_PAPI_VERSION);
	setenv("PAPI_STAND_IN", "absent=PAPI_FP_OPS absent=PAPI_TOT_INS", 1);
	fewer = papi_presets(version, &reason);
	assert_true(fewer > 0);
	assert_int_equal(n - fewer, 2);
	setenv("PAPI_STAND_IN",
	       "absent=PAPI_TOT_CYC absent=PAPI_TOT_INS absent=PAPI_L1_DCM absent=PAPI_L2_DCM "
	       "absent=PAPI_L3_TCM absent=PAPI_TLB_DM absent=PAPI_BR_INS "
	       "absent=PAPI_BR_MSP absent=PAPI_LD_INS absent=PAPI_SR_INS absent=PAPI_L3_TCA "
	       "absent=PAPI_RES_STL absent=PAPI_CA_SNP absent=PAPI_FP_OPS",
	       1);
	assert_int_equal(papi_presets(version, &reason), 0);
	assert_says(reason.what, "no preset for this processor");
}

static void test_a_library_that_does_not_start(void **state)
{
	static const char *const told[] = { "sick", "threadless" }, *const words[] = {
		"does not start", "can't be used by threads"
	};

	(void)state;
	for (unsigned i = 0; i < LENGTH(told); i++) {
		struct counters *c = OPEN(told[i], false, "PAPI_TOT_INS");

		assert_says(why(c, 0), words[i]);
		assert_says(why(c, 0), "papi_component_avail");
		assert_null(counters_library(c, NULL));
		counters_close(c);
	}
}

static void test_an_error_that_nobody_knows(void **state)
{
	struct counters *c = OPEN("wrong=PAPI_SR_INS", false, "PAPI_SR_INS", "PAPI_LD_INS");

	(void)state;
	assert_says(why(c, 0), "An error of its stand-in");
	assert_says(why(c, 0), "papi_command_line PAPI_SR_INS");
	assert_string_equal(counters_event(c, 1)->source, "papi");
	counters_close(c);
}

/* Runs this program again with LD_LIBRARY_PATH set, so that the stand-in is loaded as PAPI. */
static bool stand_in(char *program)
{
	char folder[PATH_MAX], path[PATH_MAX + 64];
	ssize_t n = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
	int major = 0, minor = 0;

	if (getenv("PAPI_STAND_IN"))
		return true;
	if (n < 0)
		return false;
	folder[n] = '\0';
	sscanf(LOCUS_PAPI_VERSION, "%d.%d", &major, &minor);
	snprintf(path, sizeof(path), "%s/../stand-in", dirname(folder));
	setenv("LD_LIBRARY_PATH", path, 1);
	setenv("PAPI_STAND_IN", "", 1);
	snprintf(path + strlen(path), 32, "/libpapi.so.%d.%d", major, minor);
	if (access(path, R_OK))
		return false;
	execl("/proc/self/exe", program, NULL);
	return false;
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
		cmocka_unit_test(test_too_few_file_descriptors),
		cmocka_unit_test(test_likwid_has_the_counters),
		cmocka_unit_test(test_what_a_package_counts_is_counted_once),
		cmocka_unit_test(test_packages_in_names),
		cmocka_unit_test(test_a_cpu_in_the_name_needs_no_other),
		cmocka_unit_test(test_an_event_that_reads_zero_is_not_proven),
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_without_counters_of_the_processor),
		cmocka_unit_test(test_another_version),
		cmocka_unit_test(test_nothing_is_loaded_that_is_not_needed),
		cmocka_unit_test(test_what_can_not_be_started_on_a_worker),
		cmocka_unit_test(test_what_can_not_be_read_is_no_number),
		cmocka_unit_test(test_presets),
		cmocka_unit_test(test_a_library_that_does_not_start),
		cmocka_unit_test(test_an_error_that_nobody_knows),
	};

	(void)n;
	if (stand_in(arguments[0]))
		return cmocka_run_group_tests(tests, NULL, NULL);
	fprintf(stderr, "%s: no stand-in for PAPI beside it: make check builds it\n", arguments[0]);
	return 1;
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
