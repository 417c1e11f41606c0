/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Test doubles of the machine's counters, which count as this file says; benchmarks whose workers
 * do known amounts of work; and reading the record of a run.
 */
#ifndef LOCUS_TEST_COUNTED_RUN_H
#define LOCUS_TEST_COUNTED_RUN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "harness/run/run.h"
#include "machine/clock.h"
#include "count/counters.h"
#include "ranks.h"

enum { EVERYWHERE = 99, MOST_EVENTS = 16, ALWAYS = 1000 };

static const struct countable {
	struct event event;
	double rate;	 /* counts per unit of a worker */
	unsigned not_on; /* this rank */
	unsigned fails;	 /* how many starts fail before one succeeds */
} countable[] = {
	{ { .name = "ones", .source = "kernel", .unit = "1", .proven = true }, 1, EVERYWHERE, 0 },
	{ { .name = "seconds", .source = "papi", .unit = "s", .proven = true },
	  0.125,
	  EVERYWHERE,
	  0 },
	{ { .name = "threes", .source = "papi", .unit = "1", .pass = 1, .proven = true },
	  3,
	  EVERYWHERE,
	  0 },
	{ { .name = "joules",
	    .source = "papi",
	    .unit = "J",
	    .scope = SCOPE_PACKAGE,
	    .pass = 1,
	    .proven = true },
	  0.5,
	  EVERYWHERE,
	  0 },
	{ { .name = "none", .source = "papi", .unit = "1", .proven = false }, 0, EVERYWHERE, 0 },
	{ { .name = "rare", .source = "papi", .unit = "1", .proven = true }, 0, EVERYWHERE, 0 },
	{ { .name = "busy", .source = "papi", .unit = "1", .proven = true },
	  1,
	  EVERYWHERE,
	  ALWAYS },
	{ { .name = "late", .source = "papi", .unit = "1", .proven = true }, 1, EVERYWHERE, 2 },
	{ { .name = "local", .source = "papi", .unit = "1", .proven = true }, 1, 1, 0 },
	/* fails to start on rank 1 */
	{ { .name = "stuck", .source = "papi", .unit = "1", .proven = true }, 1, EVERYWHERE, 0 },
	/* other programs take its counter */
	{ { .name = "shared", .source = "papi", .unit = "1", .proven = true }, NAN, EVERYWHERE, 0 },
	/* counts what `guess` holds */
	{ { .name = "guessed", .source = "papi", .unit = "1", .proven = true }, 0, EVERYWHERE, 0 },
	/* its pass differs between ranks */
	{ { .name = "moves", .source = "papi", .unit = "1", .proven = true }, 1, EVERYWHERE, 0 },
	{ { .name = "PAPI_TOT_INS", .source = "papi", .unit = "1", .proven = true },
	  6,
	  EVERYWHERE,
	  0 },
	{ { .name = "PAPI_TOT_CYC", .source = "papi", .unit = "1", .pass = 1, .proven = true },
	  4,
	  EVERYWHERE,
	  0 },
};

static double guess[2]; /* the count of `guessed` for each worker */

struct counters {
	struct event event[MOST_EVENTS];
	const struct countable *of[MOST_EVENTS];
	unsigned n, pass, starts[MOST_EVENTS];
	const bool *duty;
	struct team *team; /* NULL: stopped */
};

static bool multiplexed;

static inline const struct countable *find(const char *name)
{
	for (size_t i = 0; i < sizeof(countable) / sizeof(*countable); i++)
		if (!strcmp(countable[i].event.name, name) && countable[i].not_on != me)
			return &countable[i];
	return NULL;
}

struct counters *counters_open(const char *const *names, unsigned n, bool multiplex)
{
	struct counters *c = calloc(1, sizeof(*c));

	assert_true(c && n <= MOST_EVENTS);
	multiplexed = multiplex;
	c->n = n;
	for (unsigned i = 0; i < n; i++) {
		c->of[i] = find(names[i]);
		c->event[i] = c->of[i] ? c->of[i]->event
				       : (struct event){ .unit = "1",
							 .why = strdup("it is not in the table") };
		c->event[i].name = strdup(names[i]);
		if (!strcmp(names[i], "moves"))
			c->event[i].pass = me == 1;
	}
	return c;
}

void counters_close(struct counters *c)
{
	assert_true(!c || !c->team);
	for (unsigned i = 0; c && i < c->n; i++) {
		free((char *)c->event[i].name);
		free(c->event[i].why);
	}
	free(c);
}

const struct event *counters_event(const struct counters *c, unsigned event)
{
	assert_true(event < c->n);
	return &c->event[event];
}

const char *counters_library(const struct counters *c, const char **why)
{
	(void)c;
	*why = "there is a double in its place";
	return NULL;
}

/* All CPUs belong to one package, whose events the first worker of the first rank counts. */
bool *counters_duties(const struct counters *c, const struct place *place, unsigned threads,
		      unsigned rank, void (*most)(double *, size_t))
{
	bool *duty = calloc(c->n * threads, sizeof(*duty));
	double first = -(double)rank;

	assert_true(duty && place);
	if (most)
		most(&first, 1);
	for (unsigned i = 0; i < c->n * threads; i++)
		duty[i] = c->event[i / threads].scope == SCOPE_THREAD ||
			  (i % threads == 0 && -first == rank);
	return duty;
}

void counters_start(struct counters *c, struct team *team, unsigned pass, const bool *duty)
{
	assert_null(c->team);
	c->team = team;
	c->pass = pass;
	c->duty = duty;
	for (unsigned i = 0; i < c->n; i++)
		c->starts[i] += c->event[i].source && c->event[i].pass == pass;
}

const char *counters_failure(const struct counters *c, unsigned event)
{
	const struct event *e = &c->event[event];

	if (!e->source || e->pass != c->pass)
		return NULL;
	return c->starts[event] <= c->of[event]->fails || (me == 1 && !strcmp(e->name, "stuck"))
		       ? "it does not start"
		       : NULL;
}

void counters_stop(struct counters *c, struct team *team)
{
	assert_ptr_equal(c->team, team);
	c->team = NULL;
}

double counters_value(const struct counters *c, unsigned worker, unsigned event)
{
	const struct event *e = &c->event[event];

	assert_non_null(c->team);
	assert_true(c->duty[event * team_threads(c->team) + worker]);
	if (!e->source || e->pass != c->pass || counters_failure(c, event))
		return NAN;
	return strcmp(e->name, "guessed")
		       ? c->of[event]->rate * (double)team_worker(c->team, worker)->done
		       : guess[worker];
}

static inline void work(void *state, struct worker *w)
{
	double end = clock_now() + 20e-6;

	(void)state;
	while (clock_now() < end)
		;
	w->done = 10 + w->index;
}

static inline double four(const struct trial *t)
{
	(void)t;
	return 4;
}

static const struct role roles[] = {
	{ "first", one_worker, TO_COMPLETION },
	{ "others", NULL, TO_COMPLETION },
};

static const struct variant variants[] = {
	{ .name = "plain", .summary = "works", .divided = true },
	{ .name = "led", .summary = "has a role", ROWS(roles, roles), .divided = true },
};

static const struct explained set[] = {
	{ "lacking|threes|ones", "the first that there is" },
	{ "lacking", "not here" },
	{ "ones", "here" },
};

static const struct role alike[] = { { "worker", NULL, TO_COMPLETION } };

static const struct metric just_time[] = { TIME_METRIC("turn") };

#define BENCHMARK(NAME, ...)                                                             \
	{                                                                                \
		.name = (NAME), .summary = "counts", .protocol = { 1, "none" },          \
		.unit.name = "turn", ROWS(metrics, just_time), ROWS(variants, variants), \
		.ops = { .work = work }, ROWS(roles, alike),                             \
		.preset = { [QUICK] = { .threads = "2", .sample = 1e-3 } }, __VA_ARGS__  \
	}

static const struct benchmark plain = BENCHMARK("plain", ROWS(counters, set)),
			      fourfold = BENCHMARK("fourfold", ROWS(counters, set),
						   .unit.part = "quarter", .unit.parts = four),
			      bare = BENCHMARK("bare", .counters = NULL);

static const struct benchmark *const table[] = { &plain, &fourfold, &bare, NULL };

static char path[] = "/tmp/test_counting.XXXXXX";

static inline struct options options(const struct benchmark *b, const char *counters)
{
	return (struct options){ .benchmark = b,
				 .variant = "plain",
				 .counters = counters,
				 .repeats = 7,
				 .oversubscribe = true,
				 .quiet = true,
				 .output = path,
				 .argv = (char *[]){ "locus", NULL },
				 .argc = 1 };
}

/* Before the first test of a group, and after the last. */
static inline int begin_runs(void **state)
{
	const int file = mkstemp(path);

	(void)state;
	me = EVERYWHERE - 1;				 /* no rank matches */
	program_invocation_short_name = (char *)"locus"; /* as program_main() sets it */
	return file < 0 ? -1 : close(file);
}

static inline int end_runs(void **state)
{
	(void)state;
	unlink(path); /* a test may have left it */
	return 0;
}

/* Runs without output on the terminal, which other tests check. */
static inline int quietly(const struct options *o)
{
	const int out = dup(STDOUT_FILENO), nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int status;

	unlink(path);
	fflush(stdout);
	dup2(nowhere, STDOUT_FILENO);
	status = engine_run(o, table, NULL);
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	close(out);
	close(nowhere);
	return status;
}

/* The lines of the record, as a list. */
static inline json_t *read_back(void)
{
	FILE *f = fopen(path, "re");
	json_t *lines = json_array(), *line;

	assert_non_null(f);
	while ((line = json_loadf(f, JSON_DISABLE_EOF_CHECK, NULL)))
		json_array_append_new(lines, line);
	fclose(f);
	unlink(path);
	return lines;
}

/* Trial and samples lines leave out null and empty members. */
static inline bool is_absent(const json_t *value)
{
	return !value;
}

static inline json_t *first(json_t *lines, const char *type)
{
	json_t *line;
	size_t i;

	json_array_foreach(lines, i, line)
		if (!strcmp(json_string_value(json_object_get(line, "type")), type))
			return line;
	fail_msg("there is no line of type %s", type);
	return NULL;
}

static inline json_t *named(json_t *list, const char *name)
{
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
		if (!strcmp(json_string_value(json_object_get(one, "name")), name))
			return one;
	return NULL;
}

static inline json_t *counter(json_t *lines, const char *name)
{
	json_t *found = named(json_object_get(first(lines, "trial"), "counters"), name);

	if (!found)
		fail_msg("there is no counter %s", name);
	return found;
}

static inline double real(json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

static inline double in_list(json_t *object, const char *key, size_t i)
{
	json_t *value = json_array_get(json_object_get(object, key), i);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

/* Most numbers in records have 7 digits. */
static inline void is(double value, double expected)
{
	if (!(fabs(value - expected) <= 1e-6 * fabs(expected)))
		fail_msg("%.17g is not %.17g", value, expected);
}

/* The counter has no number, and says why. */
static inline void is_none(json_t *counter, const char *why)
{
	assert_true(is_absent(json_object_get(counter, "value")) &&
		    is_absent(json_object_get(counter, "per_thread")));
	assert_true(is_absent(json_object_get(counter, "total")) &&
		    is_absent(json_object_get(counter, "ci")));
	if (!strstr(json_string_value(json_object_get(counter, "why")), why))
		fail_msg("'%s' has no '%s'", json_string_value(json_object_get(counter, "why")),
			 why);
}

#endif
