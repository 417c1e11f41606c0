/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The doctor's trials on this machine, beside reading files: an exchange between CPUs, counters,
 * LIKWID, and Python, however it behaves.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/arithmetic.h"
#include "count/counters.h"
#include "machine/clock.h"
#include "machine/topology/topology.h"
#include "opinion.h"
#include "tree.h"

/* Two virtual CPUs on one core of the host, which the topology does not show. */
static void hidden_siblings_are_named(void **state)
{
	static const struct {
		struct siblings pair[3];
		unsigned pairs;
		enum finding_state state;
		const char *found;
	} rows[] = {
		{ { { { 0, 0 }, 0 } }, 0, FINDING_UNKNOWN, "there is one core" },
		{ { { { 0, 1 }, 0 } }, 1, FINDING_UNKNOWN, "no two CPUs were free at once" },
		{ { { { 0, 1 }, 77e-9 }, { { 1, 2 }, 61e-9 }, { { 2, 3 }, 0 } },
		  3,
		  FINDING_GOOD,
		  "none: a line takes 61 ns or more between cores" },
		{ { { { 0, 1 }, 77e-9 }, { { 1, 2 }, 7.7e-9 }, { { 2, 3 }, 0 } },
		  3,
		  FINDING_WRONG,
		  "CPUs 1 and 2 share a core: a line goes from one to the other in 7.7 ns" },
		{ { { { 0, 1 }, 8e-9 }, { { 1, 2 }, 7.7e-9 }, { { 2, 3 }, 7.9e-9 } },
		  3,
		  FINDING_WRONG,
		  "CPUs 0 and 1 share a core: a line goes from one to the other in 8.0 ns; so do 2 "
		  "pairs more" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct finding f = { .state = FINDING_GOOD };

		siblings_report(rows[i].pair, rows[i].pairs, &f);
		assert_int_equal(f.state, rows[i].state);
		assert_string_equal(f.found, rows[i].found);
	}
}

static void others_on_a_core_are_counted(void **state)
{
	static const struct {
		double width[10];
		enum finding_state state;
		const char *found;
	} rows[] = {
		{ { 4, 4, 4, 4, 4, 4, 4, 4, 4, 4 },
		  FINDING_GOOD,
		  "not shared in 10 of 10 looks: 4.0 operations a cycle" },
		/* one look seemed wider, one was crowded */
		{ { 4, 4, 41, 4, 4, 2.6, 4, 4, 4, 4 },
		  FINDING_GOOD,
		  "not shared in 9 of 10 looks: 4.0 operations a cycle" },
		{ { 2.6, 2.6, 4, 4, 4, 2.4, 4, 4, 4, 4 },
		  FINDING_WRONG,
		  "others worked on it in 3 of 10 looks: 2.5 instead of 4.0 operations a cycle" },
		{ { 0 }, FINDING_UNKNOWN, "its width can't be measured on this architecture" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct finding f = { .state = FINDING_GOOD };

		crowd_report(rows[i].width, LENGTH(rows[i].width), &f);
		assert_int_equal(f.state, rows[i].state);
		assert_string_equal(f.found, rows[i].found);
	}
}

/* A CPU that does not exist ends it at once; a CPU that we may not use is unknown. */
static void an_exchange_ends(void **state)
{
	const int cpu = 0, none = 1 << 20;
	const double began = clock_now();

	(void)state;
	assert_true(siblings_exchange(none, none, 0.02) <= 0);
	assert_true(siblings_exchange(cpu, none, 0.02) <= 0);
	assert_true(siblings_exchange(none, cpu, 0.02) <= 0);
	assert_true(siblings_exchange(0, 0, 0.02) >= 0);
	assert_true(clock_now() - began < 100);
}

/* Two threads take turns on one CPU: two CPUs of a busy or emulated machine may not run at once. */
static void an_exchange_takes_time(void **state)
{
	const int cpu = 0;
	double took = 0;

	(void)state;
	for (double seconds = 0.02; seconds < 20 && !(took > 0); seconds *= 2)
		took = siblings_exchange(cpu, cpu, seconds);
	assert_true(took > 0);
}

/* The doctor's text about a Python, on this machine. */
static char *opinion_of_python(const char *python, double *elapsed)
{
	const char *why;
	struct machine *here = machine_open(NULL, &why);
	double begin = clock_now();
	char *text, *line;
	int status;

	assert_non_null(here);
	setenv("LOCUS_PYTHON", python, 1);
	text = opinion("", here, &status);
	unsetenv("LOCUS_PYTHON");
	machine_close(here);
	*elapsed = clock_now() - begin;
	line = strstr(text, "] Python ");
	assert_non_null(line);
	line = strdup(line - 3);
	free(text);
	return line;
}

/*
 * The doctor's text about each kind of counters agrees with what can be counted on this machine; a
 * kind that cannot be counted has a remedy.
 */
static void counters_are_tried(void **state)
{
	static const struct {
		const char *name, *event;
	} rows[] = { { "hardware counters", "perf::CYCLES" },
		     { "software counters", "perf::CONTEXT-SWITCHES" },
		     { "PAPI", "PAPI_TOT_CYC" } };
	const char *why;
	struct machine *here = machine_open(NULL, &why);
	char *text;
	int status;

	(void)state;
	assert_non_null(here);
	text = opinion("", here, &status);
	machine_close(here);
	for (unsigned i = 0; i < LENGTH(rows); i++) {
		struct counters *c = counters_open(&rows[i].event, 1, false);
		char name[32], *line;

		snprintf(name, sizeof(name), "] %s ", rows[i].name);
		line = strstr(text, name);
		assert_non_null(line);
		assert_int_equal(!strncmp(line - 3, "[ok", 3), counters_passes(c) > 0);
		if (!counters_passes(c))
			assert_memory_equal(strchr(strchr(line, '\n') + 1, '\n') + 1, "     ", 5);
		counters_close(c);
	}
	assert_non_null(strstr(text, "] LIKWID "));
	free(text);
}

/*
 * The doctor's text about LIKWID, by processor: on x86 LIKWID reads registers, through a driver
 * whose file it must be able to open; elsewhere (64-bit Arm, POWER) it counts by perf_event_open.
 */
static void likwid_counts_by_registers_or_by_perf_event(void **state)
{
	static const struct {
		const char *library, *file; /* NULL: does not exist */
		bool registers;
		const char *found, *remedy;
	} rows[] = {
		{ NULL, NULL, true, "no LIKWID",
		  "sudo apt-get install likwid # Fedora: likwid, Spack: likwid" },
		{ NULL, NULL, false, "no LIKWID",
		  "spack install likwid # it counts by perf_event; Debian and Ubuntu have LIKWID "
		  "for x86 alone" },
		{ "liblikwid.so.5.2", NULL, false,
		  "liblikwid.so.5.2; likwid-perfctr counts by perf_event_open", "" },
		{ "liblikwid.so.5.2", NULL, true,
		  "liblikwid.so.5.2, but no /dev/cpu/0/msr, which likwid-perfctr needs unless "
		  "built "
		  "for perf_event",
		  "sudo modprobe msr" },
		{ "liblikwid.so.5.2", "/dev/cpu/0/msr", true,
		  "liblikwid.so.5.2; this user may read /dev/cpu/0/msr", "" },
		/* not a folder: opening the file below it fails, but not with ENOENT */
		{ "liblikwid.so.5.2", "/dev/cpu/0", true,
		  "liblikwid.so.5.2, but this user may use neither /dev/cpu/0/msr nor "
		  "likwid-accessD",
		  "sudo chown root /usr/sbin/likwid-accessD && sudo chmod u+s "
		  "/usr/sbin/likwid-accessD" },
	};

	(void)state;
	for (unsigned i = 0; i < LENGTH(rows); i++) {
		const struct likwid_found found = { rows[i].library, "no LIKWID",
						    rows[i].registers };
		const bool missing = *rows[i].remedy;
		struct finding f = { .state = FINDING_UNKNOWN };

		if (rows[i].file)
			put_file(rows[i].file, "");
		judge_likwid(&found, root, &f);
		if (rows[i].file)
			remove(in_tree(rows[i].file));
		remove(in_tree("/dev/cpu/0"));
		assert_int_equal(f.state, missing ? FINDING_MISSING : FINDING_GOOD);
		assert_string_equal(f.found, rows[i].found);
		assert_string_equal(f.remedy, rows[i].remedy);
	}
}

/* Registers that only LIKWID's daemon may read. */
static void likwid_has_a_daemon(void **state)
{
	const struct likwid_found found = { "liblikwid.so.5.2", NULL, true };
	struct finding f = { .state = FINDING_UNKNOWN };

	(void)state;
	put_file("/dev/cpu/0", "");
	put_file("/usr/local/sbin/likwid-accessD", "");
	assert_int_equal(chmod(in_tree("/usr/local/sbin/likwid-accessD"), 0755), 0);
	judge_likwid(&found, root, &f);
	assert_int_equal(f.state, FINDING_GOOD);
	assert_string_equal(f.found, "liblikwid.so.5.2; likwid-accessD reads /dev/cpu/0/msr");
	assert_string_equal(f.remedy, "");
}

static void script(const char *text)
{
	put_file("/python", text);
	assert_int_equal(chmod(in_tree("/python"), 0700), 0);
}

static void python_is_tried(void **state)
{
	static const struct {
		const char *script, *says;
	} rows[] = {
		{ "#!/bin/sh\necho has all that the report needs\n", "[ok]" },
		{ "#!/bin/sh\necho lacks altair\n", "[--]" },
		{ "#!/bin/sh\nexit 1\n", "[--]" },
		{ "#!/bin/sh\nkill -9 $$\n", "[--]" },
		{ "#!/bin/sh\nhead -c 100000 /dev/zero\n", "[--]" },
		{ "not a program", "[--]" },
	};
	double elapsed;
	char *line;

	(void)state;
	for (unsigned i = 0; i < LENGTH(rows); i++) {
		script(rows[i].script);
		line = opinion_of_python(in_tree("/python"), &elapsed);
		assert_int_equal(strncmp(line, rows[i].says, 4), 0);
		free(line);
	}
	line = opinion_of_python("/nowhere/python", &elapsed);
	assert_non_null(strstr(line, "/nowhere/python: No such file or directory"));
	assert_non_null(strstr(line, "$ python3 -m venv"));
	free(line);
}

/* A Python that never answers is ended, with all processes that it started. */
static void python_may_hang(void **state)
{
	char text[2 * PATH_MAX], *line, *pid;
	double elapsed;
	FILE *file;
	int child = 0;

	(void)state;
	snprintf(text, sizeof(text), "#!/bin/sh\nsleep 600 &\necho $! >%s/child\nwait\n", root);
	script(text);
	pid = strdup(in_tree("/child"));
	line = opinion_of_python(in_tree("/python"), &elapsed);
	assert_int_equal(strncmp(line, "[??]", 4), 0);
	assert_true(elapsed < 60);
	free(line);
	file = fopen(pid, "r");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%d", &child), 1);
	fclose(file);
	free(pid);
	/* Gone, or dead and not yet collected by its new parent. */
	for (unsigned tries = 0; !kill(child, 0); tries++) {
		char path[64], state_of = 0;

		snprintf(path, sizeof(path), "/proc/%d/stat", child);
		file = fopen(path, "r");
		if (!file || fscanf(file, "%*d %*s %c", &state_of) != 1 || state_of == 'Z') {
			if (file)
				fclose(file);
			break;
		}
		fclose(file);
		assert_true(tries < 100000);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(hidden_siblings_are_named), TEST(others_on_a_core_are_counted),
		TEST(an_exchange_ends),		 TEST(an_exchange_takes_time),
		TEST(counters_are_tried),	 TEST(likwid_counts_by_registers_or_by_perf_event),
		TEST(likwid_has_a_daemon),	 TEST(python_is_tried),
		TEST(python_may_hang),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
