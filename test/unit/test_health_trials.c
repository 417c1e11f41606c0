/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `locus health`: trials compared with bounds, other work in made-up series, and the child process.
 */
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/sysfs.h"
#include "commands/health/examiner.h"
#include "records.h"

/* ---- trials ---- */

/* With ' for ". */
static const char expected[] =
	"{'schema': 'locus-expected-1.1', 'classes': [{'class': 'a', 'cpu': 'b', 'metrics': ["
	"{'trial': 't1', 'metric': 'bandwidth', 'name': 'numa/static/x', 'unit': 'B/s', "
	"'better': 'higher', 'low': 3.91e11, 'high': 4e11}, "
	"{'trial': 't2', 'metric': 'time', 'name': 'latency/cycle/x', 'unit': 's/load', "
	"'better': 'lower', 'low': 1e-9, 'high': 1.2e-9}, "
	"{'trial': 't3', 'metric': 'gap', 'name': 'cores/x', 'unit': 's', 'better': 'lower', "
	"'low': 1, 'high': 2}], 'health': ["
	"{'trial': 't1', 'metric': 'bandwidth', 'component': 'memory bandwidth'}, "
	"{'trial': 't2', 'metric': 'time', 'component': 'L1'}, "
	"{'trial': 't3', 'metric': 'gap', 'component': 'core'}]}]}";

static json_t *read_expected(void)
{
	char text[sizeof(expected)], why[HEALTH_TEXT];
	json_t *classes;

	memcpy(text, expected, sizeof(text));
	for (char *quote = text; (quote = strchr(quote, '\''));)
		*quote = '"';
	classes = expected_parse(text, strlen(text), why);
	assert_non_null(classes);
	return classes;
}

#define LINE(status, metric, value, time, more)                                             \
	"{\"status\": \"" status "\", \"reasons\": [\"so it is\"], \"scale\": 0.001, "      \
	"\"metrics\": {\"" metric "\": {\"value\": " value "}, \"time\": {\"value\": " time \
	"}}" more "}"
/* The times of four batches correspond to less than 391 GB/s; the third batch is noisy. */
#define FIVE ", \"batches\": {\"metrics\": {\"time\": [1000, 1001, null, 999, 1000, 500]}}"
#define CROWDED(share, aside) \
	", \"samples\": {\"crowded\": {\"share\": " share ", \"aside\": " aside "}}"
#define OPEN(low)                                                                           \
	"{\"status\": \"unconverged\", \"metrics\": {\"bandwidth\": {\"value\": 3.52e11}, " \
	"\"time\": {\"value\": 1.0, \"ci\": [" low ", 1.1]}}}"
#define FAST LINE("ok", "bandwidth", "3.95e11", "1.0", "")
#define SLOW LINE("unconverged", "bandwidth", "3.52e11", "1.0", FIVE)
#define L1   "{\"status\": \"ok\", \"metrics\": {\"time\": {\"value\": 1.1e-9}}}"
#define L1_OPEN(low)                                                                     \
	"{\"status\": \"ok\", \"metrics\": {\"time\": {\"value\": 1.5e-9, \"ci\": [" low \
	", 2e-9]}}}"
#define L1_BAD LINE("bimodal", "x", "1", "1.5e-9", ", \"batches\": {\"metrics\": {\"time\": [1]}}")
#define GAP    LINE("ok", "gap", "1.5", "1.0", "")
#define GAPS                          \
	LINE("ok", "gap", "3", "1.0", \
	     ", \"batches\": {\"metrics\": {\"time\": [1, 2], \"gap\": [1.5, 4.5]}}")

static struct health judge(const char *t1, const char *t2, const char *t3)
{
	json_t *classes = read_expected(), *lines;
	char text[2048];
	struct health h = { 0 };

	snprintf(text, sizeof(text), "{\"t1\": %s, \"t2\": %s, \"t3\": %s}", t1, t2, t3);
	lines = json_loads(text, 0, NULL);
	assert_non_null(lines);
	trials_judge(&h, json_array_get(classes, 0), lines);
	json_decref(lines);
	json_decref(classes);
	return h;
}

static void trials_within_their_bounds(void **state)
{
	const struct health h = judge(FAST, L1, GAP);

	(void)state;
	assert_int_equal(h.trials, 3);
	assert_int_equal(h.findings + h.unknowns, 0);
}

static void the_worst_trial_is_told(void **state)
{
	struct health h = judge(SLOW, L1, GAP);

	(void)state;
	assert_string_equal(h.finding,
			    "memory bandwidth 352.0 GB/s, at least 391 expected (4 of 5)");
	assert_int_equal(h.findings, 1);
	h = judge(SLOW, L1_BAD, GAP);
	assert_string_equal(h.finding, "L1 1.500 ns/load, at most 1.2 expected (1 of 1)");
	assert_int_equal(h.findings, 2);
	assert_int_equal(judge(FAST, L1_OPEN("1.1e-9"), GAP).findings, 0);
	assert_int_equal(judge(FAST, L1_OPEN("1.3e-9"), GAP).findings, 1);
	h = judge(FAST, L1, GAPS);
	assert_string_equal(h.finding, "core 3.000 s, at most 2 expected (1 of 2)");
}

static void trials_without_a_sound_result(void **state)
{
	static const struct {
		const char *line, *told;
		unsigned findings;
	} rows[] = {
		{ LINE("noisy", "bandwidth", "3.52e11", "1.0", FIVE),
		  "noisy: memory bandwidth 352.0 GB/s, at least 391 expected (4 of 5)", 0 },
		{ LINE("ok", "bandwidth", "3.52e11", "1.0", CROWDED("0.72", "false")),
		  "cores are shared: memory bandwidth 352.0 GB/s, at least 391 expected", 0 },
		{ LINE("ok", "bandwidth", "3.52e11", "1.0", CROWDED("0.72", "true")),
		  "memory bandwidth 352.0 GB/s, at least 391 expected", 1 },
		{ LINE("ok", "bandwidth", "3.52e11", "1.0", CROWDED("0.4", "false")),
		  "memory bandwidth 352.0 GB/s, at least 391 expected", 1 },
		/* The time's interval is the rate's: 3.52e11 * 1 / 0.9 = 3.911e11. */
		{ OPEN("0.899"),
		  "its interval reaches the bound: memory bandwidth 352.0 GB/s, at least 391 "
		  "expected",
		  0 },
		{ OPEN("0.901"), "memory bandwidth 352.0 GB/s, at least 391 expected", 1 },
		{ LINE("misplaced", "bandwidth", "1", "1", ""),
		  "memory bandwidth: misplaced: so it is", 0 },
		{ LINE("ok", "bandwidth", "null", "1", ""), "memory bandwidth: ok: so it is", 0 },
		{ "null", "memory bandwidth: not measured: no reason", 0 },
		{ LINE("wrong", "bandwidth", "1", "1", ""), "memory bandwidth: wrong: so it is",
		  1 },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		const struct health h = judge(rows[i].line, L1, GAP);

		assert_int_equal(h.findings, rows[i].findings);
		assert_int_equal(h.unknowns, !rows[i].findings);
		assert_in_range(h.trials, 2, 2 + rows[i].findings); /* a wrong one has no value */
		assert_string_equal(rows[i].findings ? h.finding : h.unknown, rows[i].told);
	}
	assert_int_equal(judge(LINE("noisy", "bandwidth", "3.95e11", "1", ""), L1, GAP).trials, 3);
}

/* ---- other work ---- */

/* 100 ticks are a second. */
static double others(const char *before, const char *after, double own)
{
	struct foreign a, b;

	put_file("/proc/stat", before);
	foreign_read(root, &a, RUSAGE_SELF);
	put_file("/proc/stat", after);
	foreign_read(root, &b, RUSAGE_SELF);
	b.wall = a.wall + 2;
	b.own = a.own + own;
	return foreign_cpus(&a, &b);
}

static void other_work_is_what_is_not_ours(void **state)
{
	const char *begin = "cpu  1000 20 300 9000 50 6 7 800 0 0\ncpu0 9 9 9 9\n";

	(void)state;
	assert_int_equal(sysconf(_SC_CLK_TCK), 100);
	assert_float_equal(others(begin, begin, 0), 0, 1e-9);
	/* user, nice, system, irq and softirq count; idle, iowait and steal don't */
	assert_float_equal(others(begin, "cpu  1100 20 300 9500 50 6 7 800\n", 0), 0.5, 1e-6);
	assert_float_equal(others(begin, "cpu  1100 40 340 9500 99 16 37 999\n", 0), 1, 1e-6);
	assert_float_equal(others(begin, "cpu  1100 20 300 9500 50 6 7 800\n", 0.8), 0.1, 1e-6);
	assert_float_equal(others(begin, "cpu  1100 20 300 9500 50 6 7 800\n", 3), 0, 1e-9);
	assert_float_equal(others("", "cpu  1100 20 300 9500 50 6 7 800\n", 0), 0, 1e-9);
	assert_float_equal(others(begin, "cpu  11\n", 0), 0, 1e-9);
}

static void what_was_measured_beside_other_work_does_not_count(void **state)
{
	const struct asked asked = { .foreign = 0.5 };
	struct examiner e = { .asked = &asked };
	const struct health facts = { .facts = 7 };

	(void)state;
	e.health = facts;
	health_finding(&e.health, "slow");
	foreign_read(SYSFS_ROOT, &e.load, RUSAGE_SELF);
	e.load.busy = 0; /* unknown: no other work */
	trials_settle(&e, &facts);
	assert_int_equal(e.health.findings, 1);
	e.load.busy = 1e-9; /* all work since the machine was started */
	trials_settle(&e, &facts);
	assert_int_equal(e.health.findings, 0);
	assert_int_equal(e.health.facts, 7);
	assert_ptr_equal(strstr(e.health.no_trials, "other work takes "), e.health.no_trials);
	assert_non_null(strstr(e.health.no_trials, " CPUs by now"));
}

/* ---- the child ---- */

static void comes_to_its_end(struct examiner *e)
{
	e->health.facts = 7;
}

/* Waits until the parent has waited for too long, which is now. */
static void hang(struct examiner *e)
{
	e->began -= 1000;
	kill(getppid(), SIGCHLD);
	pause();
}

static void hangs_reading(struct examiner *e)
{
	examiner_turns_to(e, "reading");
	hang(e);
}

static void ends_early(struct examiner *e)
{
	examiner_turns_to(e, "reading");
	_exit(1);
}

static void hangs_measuring(struct examiner *e)
{
	foreign_read(SYSFS_ROOT, &e->load, RUSAGE_SELF);
	e->load.busy = 0;
	snprintf(e->trial, sizeof(e->trial), "numa/static");
	hang(e);
}

static void hangs_beside_others(struct examiner *e)
{
	foreign_read(SYSFS_ROOT, &e->load, RUSAGE_SELF);
	e->load.busy = 1e-9; /* so all work since the machine was started counts as others' */
	snprintf(e->trial, sizeof(e->trial), "numa/static");
	hang(e);
}

static void is_cut_off(struct examiner *e)
{
	snprintf(e->trial, sizeof(e->trial), "numa/static");
	_exit(1);
}

static void crashes(struct examiner *e)
{
	snprintf(e->trial, sizeof(e->trial), "numa/static");
	signal(SIGSYS, SIG_DFL); /* of those that end a process, one that no sanitizer catches */
	raise(SIGSYS);
}

static void is_killed(struct examiner *e)
{
	snprintf(e->trial, sizeof(e->trial), "numa/static");
	raise(SIGKILL);
}

static void whatever_becomes_of_the_child(void **state)
{
	static const struct {
		void (*examine)(struct examiner *);
		unsigned findings, unknowns;
		const char *told;
	} rows[] = {
		{ comes_to_its_end, 0, 0, "" },
		{ hangs_reading, 0, 1, "hung while reading" },
		{ ends_early, 0, 1, "ended while reading" },
		{ hangs_measuring, 1, 0, "numa/static hung: no end after 1" },
		{ hangs_beside_others, 0, 1, "numa/static: did not end in time; other work uses " },
		{ is_cut_off, 1, 0, "numa/static hung: no end after 0 s" },
		{ crashes, 1, 0, "numa/static: ended by Bad system call" },
		{ is_killed, 0, 1, "numa/static: Killed" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		const struct asked asked = { .foreign = 0.5, .last = 60 };
		struct health h = { 0 };

		assert_int_equal(examiner_run(rows[i].examine, &asked, &h), 0);
		assert_int_equal(h.findings, rows[i].findings);
		assert_int_equal(h.unknowns, rows[i].unknowns);
		assert_ptr_equal(strstr(h.findings ? h.finding : h.unknown, rows[i].told),
				 h.findings ? h.finding : h.unknown);
		assert_int_equal(h.facts, i ? 0 : 7);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trials_within_their_bounds),
		cmocka_unit_test(the_worst_trial_is_told),
		cmocka_unit_test(trials_without_a_sound_result),
		TEST(other_work_is_what_is_not_ours),
		cmocka_unit_test(what_was_measured_beside_other_work_does_not_count),
		cmocka_unit_test(whatever_becomes_of_the_child),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
