/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of a benchmark whose memory takes long to prepare: each run makes progress, however small
 * its budget.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <jansson.h>

#include "base/statistics.h"
#include "benchmark.h"
#include "harness/run/run.h"
#include "machine/clock.h"

#define PREPARATION 0.2 /* s */
#define BUDGET	    0.5 /* s: less than three preparations */

static char something;

static void *prepare(const struct trial *t)
{
	const double end = clock_now() + PREPARATION;

	(void)t;
	while (clock_now() < end)
		;
	return &something;
}

static void work(void *state, struct worker *w)
{
	(void)state;
	w->done = 1;
}

enum { TRIALS = 3 };
static const struct variant variants[] = {
	{ "a", "waits" },
	{ "b", "waits" },
	{ "c", "waits" },
};
static const struct ratio ratios[] = { { "gain", "none", P_VARIANT, "a", "c", NULL } };
static const struct metric metrics[] = { TIME_METRIC("turn") };
static const struct role roles[] = { { "worker", NULL, TO_COMPLETION } };
static const struct benchmark benchmark = {
	.name = "slow",
	.summary = "waits",
	.protocol = { 1, "none" },
	.unit = { "turn" },
	ROWS(metrics, metrics),
	ROWS(variants, variants),
	ROWS(ratios, ratios),
	ROWS(roles, roles),
	.ops = { .prepare = prepare, .work = work },
	.preset = { [QUICK] = { .threads = "1", .sample = 1e-3 } },
};

struct outcome {
	unsigned complete, interrupted; /* in the last run */
	int skipped;
	bool is_complete[TRIALS]; /* by variant, over all runs */
	json_int_t group[TRIALS]; /* in the last run; -1: the trial has no line in it */
};

static bool is_complete(const char *status)
{
	return !strcmp(status, "ok") || !strcmp(status, "unconverged") ||
	       !strcmp(status, "bimodal") || !strcmp(status, "noisy");
}

static void read_line(struct outcome *o, const json_t *line)
{
	const char *type = json_string_value(json_object_get(line, "type"));
	unsigned variant;

	if (!strcmp(type, "header")) {
		o->complete = o->interrupted = 0;
		for (unsigned i = 0; i < TRIALS; i++)
			o->group[i] = -1;
	}
	if (!strcmp(type, "end"))
		o->skipped = (int)json_integer_value(json_object_get(line, "skipped"));
	if (strcmp(type, "trial"))
		return;
	variant = (unsigned)(*json_string_value(json_object_get(line, "variant")) - 'a');
	o->group[variant] = json_integer_value(json_object_get(line, "group"));
	if (is_complete(json_string_value(json_object_get(line, "status")))) {
		o->complete++;
		o->is_complete[variant] = true;
	} else {
		o->interrupted++;
	}
}

static struct outcome run_once(const char *path, double budget)
{
	const struct benchmark *const table[] = { &benchmark, NULL };
	const struct options options = { .benchmark = &benchmark,
					 .time_budget = budget,
					 .output = path,
					 .resume = true,
					 .quiet = true };
	struct outcome o = { 0 };
	char *line = NULL;
	size_t room = 0;
	FILE *f;

	assert_int_equal(engine_run(&options, table, NULL), 0);
	f = fopen(path, "r");
	assert_non_null(f);
	while (getline(&line, &room, f) > 0) {
		json_t *object = json_loads(line, 0, NULL);

		assert_non_null(object);
		read_line(&o, object);
		json_decref(object);
	}
	free(line);
	fclose(f);
	return o;
}

static void a_file(char *path)
{
	int file = mkstemp(path);

	assert_true(file >= 0);
	close(file);
}

/*
 * Preparing all trials would take the whole budget: preparation stops after half of it, and the
 * prepared trials are measured.
 */
static void slow_memory_leaves_time_to_measure(void **state)
{
	char path[] = "/tmp/locus-run-XXXXXX";
	struct outcome o;

	(void)state;
	a_file(path);
	o = run_once(path, BUDGET);
	unlink(path);
	assert_int_equal(o.complete + o.interrupted, TRIALS);
	/* by BUDGET and PREPARATION, two preparations are more than half on any machine */
	assert_true(o.is_complete[0] && o.group[0] == 0);
	assert_true(!o.is_complete[2] && o.group[2] > 0);
}

/* Complete trials are measured again only as company of incomplete ones. */
static void each_run_gets_on(void **state)
{
	char path[] = "/tmp/locus-run-XXXXXX";
	unsigned complete = 0;
	struct outcome o;

	(void)state;
	a_file(path);
	while (complete < TRIALS) {
		const unsigned before = complete;

		o = run_once(path, 1e-3);
		complete = 0;
		for (unsigned v = 0; v < TRIALS; v++)
			complete += o.is_complete[v];
		assert_true(complete > before);
		assert_int_equal(o.complete + o.interrupted + (unsigned)o.skipped, TRIALS);
	}
	o = run_once(path, 1e-3);
	unlink(path);
	assert_int_equal(o.skipped, TRIALS);
	assert_int_equal(o.complete + o.interrupted, 0);
}

/* Every other allocation takes twice as long: no interval becomes narrow. */
static void *prepare_scattered(const struct trial *t)
{
	static double seconds[2] = { 1e-3, 2e-3 };

	return &seconds[t->allocation % 2];
}

static void wait_scattered(void *state, struct worker *w)
{
	const double end = clock_now() + *(const double *)state;

	while (clock_now() < end)
		;
	w->done = 1;
}

/* The number of allocations of the only trial in a record. */
static size_t allocations_in(const char *path)
{
	size_t room = 0, allocations = 0;
	char *line = NULL;
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	while (getline(&line, &room, f) > 0) {
		json_t *object = json_loads(line, 0, NULL);
		const json_t *batches = json_object_get(object, "batches");

		allocations += json_array_size(json_object_get(batches, "allocations"));
		json_decref(object);
	}
	free(line);
	fclose(f);
	return allocations;
}

/* Each allocation gets 0.1 s of 1.2 s: there are 12, or 6 or fewer if the machine is busy. */
static void allocations_are_as_many_as_a_look_has(void **state)
{
	static const struct variant scattered[] = { { "a", "scatters" } };
	struct benchmark b = benchmark;
	const struct benchmark *const table[] = { &b, NULL };
	char path[] = "/tmp/locus-run-XXXXXX";
	struct options options = { .benchmark = &b,
				   .profile = STANDARD,
				   .case_budget = 1.2,
				   .resume = true,
				   .quiet = true };
	size_t found;

	(void)state;
	b.variants = scattered;
	b.n_variants = 1;
	b.n_ratios = 0;
	b.ops = (struct ops){ .prepare = prepare_scattered, .work = wait_scattered };
	a_file(path);
	options.output = path;
	assert_int_equal(engine_run(&options, table, NULL), 0);
	found = allocations_in(path);
	unlink(path);
	assert_true(found > 0 && found <= 12);
	assert_true(found < LEAST_VALUES || statistics_is_look(found));
}

/* The first reason of variant a's trial in a record; to be freed. */
static char *reason_in(const char *path)
{
	char *line = NULL, *reason = NULL;
	size_t room = 0;
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	while (!reason && getline(&line, &room, f) > 0) {
		json_t *object = json_loads(line, 0, NULL);
		const json_t *reasons = json_object_get(object, "reasons");

		if (json_array_size(reasons))
			reason = strdup(json_string_value(json_array_get(reasons, 0)));
		json_decref(object);
	}
	free(line);
	fclose(f);
	return reason;
}

static void *prepare_without_a_reason(const struct trial *t)
{
	(void)t;
	return NULL;
}

static void *prepare_more_than_needed(const struct trial *t)
{
	return region_map(t->arena, "more", 3 << 10, PAGES_BASE) ? &something : NULL;
}

static struct needs a_kilobyte(const struct trial *t)
{
	(void)t;
	return (struct needs){ .bytes = 1 << 10 };
}

/* Faults that only a run can find in a table: each gives a sentence for the author. */
static void faults_of_an_author_are_told(void **state)
{
	static const struct {
		void *(*prepare)(const struct trial *);
		const char *said;
	} faults[] = {
		{ prepare_without_a_reason, "its memory could not be prepared: prepare() gave no "
					    "reason: it sets errno, or calls arena_cannot()" },
		{ prepare_more_than_needed, "prepare() maps 3072 bytes, and needs() says 1024" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		struct benchmark b = benchmark;
		const struct benchmark *const table[] = { &b, NULL };
		char path[] = "/tmp/locus-run-XXXXXX", *reason;
		struct options options = { .benchmark = &b, .variant = "a", .quiet = true };

		b.ops.prepare = faults[i].prepare;
		b.needs = a_kilobyte;
		a_file(path);
		options.output = path;
		options.append = true;
		assert_int_equal(engine_run(&options, table, NULL), 1);
		reason = reason_in(path);
		unlink(path);
		assert_string_equal(reason, faults[i].said);
		free(reason);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slow_memory_leaves_time_to_measure),
		cmocka_unit_test(each_run_gets_on),
		cmocka_unit_test(allocations_are_as_many_as_a_look_has),
		cmocka_unit_test(faults_of_an_author_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
