/* SPDX-License-Identifier: Apache-2.0 */
/* Why PAPI cannot count: reasons of its stand-in, and what is counted nevertheless. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "count/papi.h"

#ifdef HAVE_PAPI

#include "papi_stand_in.h"

static void assert_says(const char *text, const char *word)
{
	if (!strstr(text, word))
		fail_msg("\"%s\" does not say \"%s\"", text, word);
	assert_null(strchr(text, '\n'));
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

int main(int n, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_too_few_file_descriptors),
		cmocka_unit_test(test_likwid_has_the_counters),
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
	return stand_in(arguments[0]) ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}

#else

static void test_needs_papi(void **state)
{
	(void)state;
	skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_needs_papi) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
