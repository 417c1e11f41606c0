/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions for LIKWID, with a stand-in for its library (test/stand-in/likwid.c) that aborts on calls
 * that LIKWID could not bear.
 */
#include "config.h"

#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "count/likwid.h"
#include "count/markers.h"
#include "perfctr.h"

enum { THREADS = 3 };

static const char *const names[] = { "numa_static_0123456789abcdef", "numa by-thread:1,2 \"x\"",
				     "never_entered" };

enum { NAMES = sizeof(names) / sizeof(*names) };

struct wanted {
	unsigned threads; /* that enter */
	int cpu[2];
	const char *library, *mode;
	unsigned groups;
	struct markers *markers;
	char *why;
};

static void seat(struct team *t, const int cpu[2], unsigned threads)
{
	struct place place[2] = { { cpu[0], 0 }, { cpu[1], 0 } };
	unsigned culprit;

	assert_int_equal(team_seat(t, place, threads, &culprit), 0);
}

struct masks {
	cpu_set_t of[THREADS];
};

/* Workers have no numbers before they sit. */
static void ask(void *argument, struct worker *w)
{
	struct masks *m = argument;
	int number = omp_get_thread_num();

	(void)w;
	assert_int_equal(sched_getaffinity(0, sizeof(m->of[number]), &m->of[number]), 0);
}

static void spend(void *argument, struct worker *w)
{
	(void)argument, (void)w;
	usleep(1000);
}

static int entered(struct team *t, void *argument)
{
	const struct wanted *want = argument;
	struct masks before, after;
	struct markers *m;
	char *why;

	memset(&before, 0, sizeof(before));
	memset(&after, 0, sizeof(after));
	team_run(t, ask, &before);
	m = want->markers;
	assert_true(markers_register(m, names, NAMES, &why));
	assert_null(why);
	team_run(t, ask, &after);
	/* although LIKWID pins each new thread */
	assert_memory_equal(&before, &after, sizeof(before));
	assert_string_equal(markers_library(m), want->library);
	assert_string_equal(markers_mode(m), want->mode);
	assert_int_equal(markers_groups(m), want->groups);
	assert_int_equal(markers_regions(m), NAMES);
	assert_string_equal(markers_name(m, 1), "numa_by_thread_1_2__x_");
	seat(t, want->cpu, want->threads);
	for (unsigned i = 0; i < 5; i++) {
		markers_begin(m, t, 0);
		team_run(t, spend, NULL);
		markers_end(m, t, 0);
	}
	seat(t, want->cpu + want->threads - 1,
	     1); /* on the last CPU alone, about which LIKWID's file says least */
	markers_begin(m, t, 1);
	markers_end(m, t, 1);
	assert_int_equal(markers_calls(m, 0), 5);
	assert_int_equal(markers_calls(m, 1), 1);
	assert_int_equal(markers_calls(m, 2), 0);
	assert_true(markers_seconds(m, 0) >= 5e-3);
	assert_true(markers_cover(m, want->cpu[0]) && !markers_cover(m, CPU_SETSIZE - 1) &&
		    !markers_cover(m, -1));
	for (unsigned i = 0; i < NAMES; i++)
		assert_true(markers_counted(m, i, want->cpu[0]) &&
			    markers_counted(m, i, want->cpu[want->threads - 1]));
	markers_close(m);
	return 7;
}

/* As in the program: LIKWID starts before the team exists. */
static int with_team(int (*body)(struct team *, void *), struct wanted *want)
{
	cpu_set_t before, after;

	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	want->markers = markers_open(&want->why);
	assert_non_null(want->markers);
	assert_null(want->why);
	assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
	assert_memory_equal(&before, &after, sizeof(before));
	return team_open(THREADS, body, want);
}

/* Calls of a region on a CPU in LIKWID's file; -1: no such line. */
static int calls_in_file(const char *tag, int cpu)
{
	FILE *f = fopen(file, "r");
	char line[256], found[128];
	int number = -1, id, group, on, calls, answer = -1;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%d:%127s", &id, found) == 2 && !strcmp(found, tag))
			number = id;
		else if (!strchr(line, ':') &&
			 sscanf(line, "%d %d %d %d", &id, &group, &on, &calls) == 4 &&
			 id == number && on == cpu)
			answer = calls;
	}
	fclose(f);
	return answer;
}

static void test_every_region_is_entered_and_left_by_the_book(void **state)
{
	struct wanted want = { .library = "liblikwid.so.5.2", .mode = "accessdaemon", .groups = 1 };

	(void)state;
	want.threads = cpus(want.cpu);
	wrap(want.cpu, want.threads, "MEM");
	assert_int_equal(with_team(entered, &want), 7);
	assert_int_equal(calls_in_file("numa_static_0123456789abcdef-0", want.cpu[0]), 5);
	assert_int_equal(
		calls_in_file("numa_static_0123456789abcdef-0", want.cpu[want.threads - 1]), 5);
	assert_int_equal(calls_in_file("numa_by_thread_1_2__x_-0", want.cpu[want.threads - 1]), 1);
	assert_int_equal(calls_in_file("never_entered-0", want.cpu[0]), -1);
}

static void test_several_groups_take_turns(void **state)
{
	struct wanted want = { .library = "liblikwid.so.5.2", .mode = "accessdaemon", .groups = 3 };

	(void)state;
	want.threads = cpus(want.cpu);
	wrap(want.cpu, want.threads, "MEM|CLOCK|L3");
	assert_int_equal(with_team(entered, &want), 7);
	assert_int_equal(calls_in_file("numa_static_0123456789abcdef-0", want.cpu[0]), 2);
	assert_int_equal(calls_in_file("numa_static_0123456789abcdef-1", want.cpu[0]), 2);
	assert_int_equal(calls_in_file("numa_static_0123456789abcdef-2", want.cpu[0]), 1);
	assert_int_equal(calls_in_file("numa_by_thread_1_2__x_-0", want.cpu[want.threads - 1]), 1);
}

/* LIKWID counts on one CPU of two: regions are entered only there. */
static int entered_in_part(struct team *t, void *argument)
{
	const struct wanted *want = argument;
	struct markers *m = want->markers;
	char *why;

	assert_true(markers_register(m, names, 1, &why));
	seat(t, want->cpu, want->threads);
	markers_begin(m, t, 0);
	markers_end(m, t, 0);
	assert_string_equal(markers_cpus(m), getenv("LIKWID_THREADS"));
	assert_false(want->threads > 1 && markers_cover(m, want->cpu[1]));
	markers_close(m);
	return 7;
}

static void test_only_where_likwid_counts(void **state)
{
	struct wanted want = { 0 };
	char lua[32];

	(void)state;
	want.threads = cpus(want.cpu);
	wrap(want.cpu, 1, "MEM");
	snprintf(lua, sizeof(lua), "%d.0", want.cpu[0]); /* as Lua may write a number */
	setenv("LIKWID_THREADS", lua, 1);
	unsetenv("LIKWID_PIN");
	assert_int_equal(with_team(entered_in_part, &want), 7);
	assert_int_equal(calls_in_file("numa_static_0123456789abcdef-0", want.cpu[0]), 1);
}

/* LIKWID cannot be used: *why gives the reason. */
static void refused(char **why)
{
	assert_null(markers_open(why));
}

static void test_nobody_asked(void **state)
{
	char *why;

	(void)state;
	assert_false(perfctr_asked());
	refused(&why);
	assert_null(why);
	assert_false(loaded());
}

/* What the doctor asks: the library's names are tried in the order of loading. */
static void test_what_would_be_loaded(void **state)
{
	char home[] = "/tmp/locus-likwid-XXXXXX", library[PATH_MAX], *found, *why;

	(void)state;
	found = likwid_available(&why);
	assert_non_null(found);
	assert_null(why);
	assert_string_equal(found, "liblikwid.so.5.2");
	free(found);
	install("5.0", library, home);
	found = likwid_available(&why);
	assert_non_null(found);
	assert_string_equal(found, "liblikwid.so.5.0");
	free(found);
	assert_false(loaded());
	unlink(library);
	rmdir(home);
}

/* Under likwid-perfctr, or for the doctor. */
static void test_no_library(void **state)
{
	struct wanted want = { 0 };

	(void)state;
	cpus(want.cpu);
	wrap(want.cpu, 1, "MEM");
	nowhere = true;
	for (unsigned i = 0; i < 2; i++) {
		if (i)
			assert_null(likwid_available(&want.why));
		else
			refused(&want.why);
		assert_non_null(want.why);
		assert_non_null(strstr(want.why, "could not be loaded (/nowhere/liblikwid.so: "));
		assert_non_null(strstr(want.why, "LD_LIBRARY_PATH"));
		free(want.why);
	}
	nowhere = false;
	assert_false(loaded());
}

static void test_left_out(void **state)
{
	struct wanted want = { 0 };

	(void)state;
	cpus(want.cpu);
	wrap(want.cpu, 1, "MEM");
	assert_true(perfctr_asked()); /* still true: LIKWID has the counters */
	refused(&want.why);
	assert_non_null(strstr(want.why, "--without-likwid"));
	free(want.why);
	assert_null(likwid_available(&want.why));
	assert_non_null(strstr(want.why, "--without-likwid"));
	free(want.why);
	assert_false(loaded());
}

static void test_half_an_environment(void **state)
{
	static const char *const needed[] = { "LIKWID_FILEPATH", "LIKWID_EVENTS",
					      "LIKWID_THREADS" };

	(void)state;
	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++) {
		struct wanted want = { 0 };

		cpus(want.cpu);
		wrap(want.cpu, 1, "MEM");
		unsetenv(needed[i]);
		refused(&want.why);
		assert_non_null(want.why);
		assert_non_null(strstr(want.why, needed[i]));
		assert_non_null(strstr(want.why, "unset LIKWID_MODE"));
		free(want.why);
		assert_false(loaded());
	}
}

static int not_registered(struct team *t, void *argument)
{
	struct wanted *want = argument;

	(void)t;
	assert_false(markers_register(want->markers, names, NAMES, &want->why));
	markers_close(want->markers);
	return 7;
}

static void test_a_library_that_does_not_begin(void **state)
{
	struct wanted want = { 0 };

	(void)state;
	cpus(want.cpu);
	wrap(want.cpu, 1, "MEM");
	setenv("LIKWID_STANDIN", "refuse", 1);
	assert_int_equal(with_team(not_registered, &want), 7);
	assert_non_null(want.why);
	assert_non_null(strstr(want.why, "liblikwid.so.5.2 could not begin to count"));
	free(want.why);
}

/* LIKWID reads "not a number" for an event that it does not know. */
static void test_events_that_nobody_can_read(void **state)
{
	struct wanted want = { 0 };

	(void)state;
	cpus(want.cpu);
	wrap(want.cpu, 1, "NONSENSE:PMC0");
	setenv("LIKWID_STANDIN", "early unreadable", 1);
	assert_int_equal(with_team(not_registered, &want), 7);
	assert_non_null(want.why);
	assert_non_null(
		strstr(want.why,
		       "no event of LIKWID_EVENTS (NONSENSE:PMC0) can be read: likwid-perfctr -e"));
	free(want.why);
}

/* CPU 1023, which no test machine has. */
static void test_a_cpu_that_is_not_ours(void **state)
{
	struct wanted want = { 0 };

	(void)state;
	cpus(want.cpu);
	wrap((int[]){ want.cpu[0], CPU_SETSIZE - 1 }, 2, "MEM");
	assert_int_equal(with_team(not_registered, &want), 7);
	assert_non_null(want.why);
	assert_non_null(strstr(want.why, "but this process may not use CPU 1023"));
	free(want.why);
}

/* One CPU reads zero: the region is not counted there. A socket's counters can't tell that. */
static int entered_and_zero(struct team *t, void *argument)
{
	struct wanted *want = argument;
	const bool core =
		strstr(getenv("LIKWID_EVENTS"), "PMC") || strstr(getenv("LIKWID_EVENTS"), "MEM");
	const int last = want->cpu[want->threads - 1];
	struct markers *m = want->markers;

	assert_true(markers_register(m, names, NAMES, &want->why));
	seat(t, want->cpu, want->threads);
	assert_true(markers_counted(m, 0, last)); /* not entered yet */
	for (unsigned i = 0; i < 2; i++) {
		markers_begin(m, t, 0);
		markers_end(m, t, 0);
	}
	assert_int_equal(markers_counted(m, 0, last), !core);
	assert_int_equal(markers_counted(m, 0, want->cpu[0]), want->threads > 1 || !core);
	assert_true(markers_counted(m, 1, last) && markers_counted(m, 0, -1));
	markers_close(m);
	return 7;
}

static void test_zeros_are_noticed(void **state)
{
	static const char *const groups[] = { "MEM", "INSTR:PMC0|CAS:MBOX0C0", "CAS:MBOX0C0" };

	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		struct wanted want = { 0 };
		char words[32];

		want.threads = cpus(want.cpu);
		wrap(want.cpu, want.threads, groups[i]);
		snprintf(words, sizeof(words), "early zero=%d", want.cpu[want.threads - 1]);
		setenv("LIKWID_STANDIN", words, 1);
		assert_int_equal(with_team(entered_and_zero, &want), 7);
		unwrap(state);
	}
}

static void test_the_library_beside_the_one_that_pins(void **state)
{
	char home[] = "/tmp/locus-likwid-XXXXXX", library[PATH_MAX];
	struct wanted want = { .library = "liblikwid.so.5.3", .mode = "direct", .groups = 2 };

	(void)state;
	want.threads = cpus(want.cpu);
	wrap(want.cpu, want.threads, "MEM|CLOCK");
	setenv("LIKWID_MODE", "0", 1);
	install("5.3", library, home);
	assert_int_equal(with_team(entered, &want), 7);
	unlink(library);
	rmdir(home);
	want.library = "liblikwid.so.5.2"; /* no such file: the next name in line */
	setenv("LD_PRELOAD", "/nowhere/liblikwidpin.so.5.9", 1);
	assert_int_equal(with_team(entered, &want), 7);
}

/* A library that is not one of LIKWID's. */
static void test_a_library_without_regions(void **state)
{
	char home[] = "/tmp/locus-likwid-XXXXXX", library[PATH_MAX];
	struct wanted want = { 0 };
	Dl_info other;

	(void)state;
	cpus(want.cpu);
	wrap(want.cpu, 1, "MEM");
	install("5.0", library, home);
	assert_true(dladdr(dlsym(RTLD_DEFAULT, "_cmocka_run_group_tests"), &other));
	copy_file(other.dli_fname, library);
	refused(&want.why);
	assert_non_null(strstr(want.why, "lacks likwid_markerInit"));
	free(want.why);
	unlink(library);
	rmdir(home);
}

/* Since 5.5 LIKWID sums over all groups in a region: so only one group counts. */
static void test_groups_that_are_not_kept_apart(void **state)
{
	char home[] = "/tmp/locus-likwid-XXXXXX", library[PATH_MAX];
	struct wanted want = { .library = "liblikwid.so.5.5", .mode = "perf_event", .groups = 1 };

	(void)state;
	want.threads = cpus(want.cpu);
	wrap(want.cpu, want.threads, "MEM|CLOCK");
	setenv("LIKWID_MODE", "-1", 1);
	install("5.5", library, home);
	assert_int_equal(with_team(entered, &want), 7);
	assert_int_equal(calls_in_file("numa_static_0123456789abcdef-0", want.cpu[0]), 5);
	unlink(library);
	rmdir(home);
}

int main(int argc, char *argv[])
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_nobody_asked, unwrap),
		cmocka_unit_test_teardown(test_what_would_be_loaded, unwrap),
		cmocka_unit_test_teardown(test_no_library, unwrap),
		cmocka_unit_test_teardown(test_half_an_environment, unwrap),
		cmocka_unit_test_teardown(test_every_region_is_entered_and_left_by_the_book,
					  unwrap),
		cmocka_unit_test_teardown(test_several_groups_take_turns, unwrap),
		cmocka_unit_test_teardown(test_only_where_likwid_counts, unwrap),
		cmocka_unit_test_teardown(test_a_library_that_does_not_begin, unwrap),
		cmocka_unit_test_teardown(test_events_that_nobody_can_read, unwrap),
		cmocka_unit_test_teardown(test_a_cpu_that_is_not_ours, unwrap),
		cmocka_unit_test_teardown(test_zeros_are_noticed, unwrap),
		cmocka_unit_test_teardown(test_the_library_beside_the_one_that_pins, unwrap),
		cmocka_unit_test_teardown(test_a_library_without_regions, unwrap),
		cmocka_unit_test_teardown(test_groups_that_are_not_kept_apart, unwrap),
	};
	const struct CMUnitTest without[] = { cmocka_unit_test_teardown(test_nobody_asked, unwrap),
					      cmocka_unit_test_teardown(test_left_out, unwrap) };
	int number;

	(void)argc;
	begin_again(argv);
	number = mkstemp(file);
	if (number >= 0)
		close(number);
#ifdef LOCUS_WITHOUT_LIKWID
	(void)tests;
	return cmocka_run_group_tests(without, NULL, NULL);
#else
	(void)without;
	return cmocka_run_group_tests(tests, NULL, NULL);
#endif
}
