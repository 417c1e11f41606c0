/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run counts beside its times: which events, in which batches, and what is made of the
 * counts. Test doubles stand for the machine's counters, and count what this file says.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include <jansson.h>

#include "benchmark.h"
#include "kit/agree.h"
#include "harness/sample/series.h"
#include "harness/run/engine.h"
#include "machine/clock.h"
#include "count/counters.h"
#include "machine/threads/team.h"
#include "ranks.h"

/* ---- the doubles ---- */

enum { EVERYWHERE = 99, MOST_EVENTS = 16, ALWAYS = 1000 };

static const struct countable {
	struct event event;
	double rate;	 /* counts for each unit that a worker did */
	unsigned not_on; /* this rank */
	unsigned fails;	 /* so many times, before it starts */
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
	/* does not start on rank 1 */
	{ { .name = "stuck", .source = "papi", .unit = "1", .proven = true }, 1, EVERYWHERE, 0 },
	/* others take its counter away */
	{ { .name = "shared", .source = "papi", .unit = "1", .proven = true }, NAN, EVERYWHERE, 0 },
	/* counts what `guess` says */
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
static double guess[2]; /* what each worker counts of `guessed` */

struct counters {
	struct event event[MOST_EVENTS];
	const struct countable *of[MOST_EVENTS];
	unsigned n, pass, starts[MOST_EVENTS];
	const bool *duty;
	struct team *team; /* NULL: stopped */
};
static bool multiplexed;

static const struct countable *find(const char *name)
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

/* All share one package, whose events the first worker of the first rank counts. */
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

/* ---- a benchmark whose workers do 10, 11, 12... units in each sample ---- */

static void work(void *state, struct worker *w)
{
	double end = clock_now() + 20e-6;

	(void)state;
	while (clock_now() < end)
		;
	w->done = 10 + w->index;
}

static double four(const struct trial *t)
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

/* ---- a run, and what it left ---- */

static char path[] = "/tmp/test_counting.XXXXXX";

static struct options options(const struct benchmark *b, const char *counters)
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

/* Runs without output, which other tests check. */
static int quietly(const struct options *o)
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

/* The lines of the record, a list. */
static json_t *read_back(void)
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

/* Trial and samples lines leave out what is null, or empty. */
static bool is_absent(const json_t *value)
{
	return !value;
}

static json_t *first(json_t *lines, const char *type)
{
	json_t *line;
	size_t i;

	json_array_foreach(lines, i,
			   line) if (!strcmp(json_string_value(json_object_get(line, "type")),
					     type)) return line;
	fail_msg("there is no line of type %s", type);
	return NULL;
}

static json_t *named(json_t *list, const char *name)
{
	json_t *one;
	size_t i;

	json_array_foreach(
		list, i,
		one) if (!strcmp(json_string_value(json_object_get(one, "name")), name)) return one;
	return NULL;
}

static json_t *counter(json_t *lines, const char *name)
{
	json_t *found = named(json_object_get(first(lines, "trial"), "counters"), name);

	if (!found)
		fail_msg("there is no counter %s", name);
	return found;
}

static double real(json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

static double in_list(json_t *object, const char *key, size_t i)
{
	json_t *value = json_array_get(json_object_get(object, key), i);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

/* Most numbers in records have 7 digits. */
static void is(double value, double expected)
{
	if (!(fabs(value - expected) <= 1e-6 * fabs(expected)))
		fail_msg("%.17g is not %.17g", value, expected);
}

/* The counter has no number, and says why. */
static void is_none(json_t *counter, const char *why)
{
	assert_true(is_absent(json_object_get(counter, "value")) &&
		    is_absent(json_object_get(counter, "per_thread")));
	assert_true(is_absent(json_object_get(counter, "total")) &&
		    is_absent(json_object_get(counter, "ci")));
	if (!strstr(json_string_value(json_object_get(counter, "why")), why))
		fail_msg("'%s' has no '%s'", json_string_value(json_object_get(counter, "why")),
			 why);
}

/* ---- tests ---- */

/* Passes take turns with a batch that counts nothing; batches add up to the trial's total. */
static void passes_take_turns(void **state)
{
	static const char *const counted[3][2] = { { "ones", "seconds" },
						   { "threes", "joules" },
						   { NULL } };
	struct options o = options(&plain, "ones,seconds,threes,joules");
	json_t *lines, *line, *trial;
	double sum = 0;
	size_t i, batches = 0;

	(void)state;
	assert_int_equal(quietly(&o), 0);
	lines = read_back();
	trial = first(lines, "trial");
	json_array_foreach(lines, i, line)
	{
		json_t *counts = json_object_get(line, "counters");

		if (strcmp(json_string_value(json_object_get(line, "type")), "samples"))
			continue;
		assert_int_equal(json_object_size(counts), counted[batches % 3][0] ? 2 : 0);
		for (unsigned j = 0; j < 2 && counted[batches % 3][j]; j++)
			assert_non_null(json_object_get(counts, counted[batches % 3][j]));
		sum += batches % 3 == 0 ? real(counts, "ones") : 0;
		batches++;
	}
	assert_int_equal(batches, 7);
	is(sum, 3 * 21);
	is(real(counter(lines, "ones"), "total"), sum);
	is(real(counter(lines, "ones"), "samples"), 3);
	is(real(counter(lines, "threes"), "samples"), 2);
	assert_true(isfinite(real(json_object_get(trial, "counting"), "with")) &&
		    isfinite(real(json_object_get(trial, "counting"), "without")));
	is(real(json_object_get(first(lines, "header"), "counters"), "passes"), 2);
	json_decref(lines);
}

/* Values are counts of all workers per unit of all; the workers' shares add up to them. */
static void counts_are_of_the_work_that_was_done(void **state)
{
	struct options o = options(&plain, "ones,seconds,threes,joules");
	json_t *lines;

	(void)state;
	assert_int_equal(quietly(&o), 0);
	lines = read_back();
	is(real(counter(lines, "ones"), "value"), 1);
	is(real(counter(lines, "seconds"), "value"), 0.125);
	is(real(counter(lines, "threes"), "value"), 3);
	is(in_list(counter(lines, "threes"), "per_thread", 0), 3 * 10 / 21.0);
	is(in_list(counter(lines, "threes"), "per_thread", 1), 3 * 11 / 21.0);
	/* one of the two counts for the package */
	is(real(counter(lines, "joules"), "value"), 0.5 * 10 / 21.0);
	is(in_list(counter(lines, "joules"), "per_thread", 0), 0.5 * 10 / 21.0);
	assert_true(json_is_null(
		json_array_get(json_object_get(counter(lines, "joules"), "per_thread"), 1)));
	assert_string_equal(json_string_value(json_object_get(counter(lines, "joules"), "scope")),
			    "package");
	assert_string_equal(json_string_value(json_object_get(counter(lines, "joules"), "unit")),
			    "J");
	assert_string_equal(json_string_value(json_object_get(counter(lines, "ones"), "per")),
			    "turn");
	json_decref(lines);
}

/*
 * If all do a unit together, counts are per part of it; if there are roles, they are per unit of
 * the first role.
 */
static void counts_are_for_each_of_what_the_benchmark_says(void **state)
{
	struct options o = options(&fourfold, "ones"), led = options(&plain, "ones");
	json_t *lines;

	(void)state;
	assert_int_equal(quietly(&o), 0);
	lines = read_back();
	is(real(counter(lines, "ones"), "value"), 21 / (10.5 * 4));
	assert_string_equal(json_string_value(json_object_get(counter(lines, "ones"), "per")),
			    "quarter");
	json_decref(lines);
	led.variant = "led";
	assert_int_equal(quietly(&led), 0);
	lines = read_back();
	is(real(counter(lines, "ones"), "value"), 21 / 10.0);
	json_decref(lines);
}

static void the_default_set_takes_the_first_event_that_there_is(void **state)
{
	struct options o = options(&plain, "default,ones,seconds");
	json_t *lines, *events, *asked;

	(void)state;
	assert_int_equal(quietly(&o), 0);
	lines = read_back();
	events = json_object_get(json_object_get(first(lines, "header"), "counters"), "events");
	asked = json_object_get(json_object_get(first(lines, "header"), "counters"), "asked");
	assert_int_equal(json_array_size(asked), 3);
	assert_string_equal(json_string_value(json_array_get(asked, 0)), "default");
	assert_int_equal(json_array_size(events), 4); /* no event is there twice */
	assert_string_equal(json_string_value(json_object_get(json_array_get(events, 0), "name")),
			    "threes");
	assert_true(json_is_null(json_object_get(named(events, "lacking"), "source")));
	is(real(counter(lines, "threes"), "value"), 3);
	is(real(counter(lines, "ones"), "value"), 1);
	is_none(counter(lines, "lacking"), "not in the table");
	json_decref(lines);
}

static void a_suite_counts_for_each_benchmark_what_is_its_own(void **state)
{
	struct options o = options(NULL, "default,seconds");
	json_t *lines, *line;
	size_t i, without = 0;

	(void)state;
	assert_int_equal(quietly(&o), 0);
	lines = read_back();
	json_array_foreach(lines, i, line)
	{
		json_t *list = json_object_get(line, "counters");

		if (strcmp(json_string_value(json_object_get(line, "type")), "trial"))
			continue;
		assert_non_null(named(list, "seconds"));
		if (strcmp(json_string_value(json_object_get(line, "benchmark")), "bare")) {
			assert_non_null(named(list, "threes"));
			continue;
		}
		assert_null(named(list, "threes"));
		/* one pass of two batches is enough for it */
		is(real(named(list, "seconds"), "samples"), 4);
		without++;
	}
	assert_int_equal(without, 1);
	json_decref(lines);
}

static void a_zero_is_believed_of_what_was_seen_to_count(void **state)
{
	struct options o = options(&plain, "none,rare");
	json_t *lines, *note;
	size_t i, notes = 0;

	(void)state;
	assert_int_equal(quietly(&o), 0);
	lines = read_back();
	is(real(counter(lines, "none"), "value"), 0);
	is(real(counter(lines, "rare"), "value"), 0);
	assert_true(json_is_false(json_object_get(counter(lines, "none"), "trusted")));
	assert_true(json_is_string(json_object_get(counter(lines, "none"), "why")));
	assert_true(json_is_true(json_object_get(counter(lines, "rare"), "trusted")));
	assert_true(is_absent(json_object_get(counter(lines, "rare"), "why")));
	json_array_foreach(json_object_get(first(lines, "trial"), "notes"), i, note) notes +=
		strncmp(json_string_value(note), "none is not to be trusted", 25) == 0;
	assert_int_equal(notes, 1);
	json_decref(lines);
}

/* An event that fails is left out; the others of its pass are counted. */
static void what_was_not_counted_has_a_reason(void **state)
{
	struct options o = options(&plain, "busy,ones,shared,threes"),
		       one = options(&plain, "ones,threes");
	json_t *lines;

	(void)state;
	assert_int_equal(quietly(&o), 0);
	lines = read_back();
	is_none(counter(lines, "busy"), "does not start");
	/* who would have counted it */
	assert_string_equal(json_string_value(json_object_get(counter(lines, "busy"), "source")),
			    "papi");
	is_none(counter(lines, "shared"), "no sample was counted throughout");
	is(real(counter(lines, "ones"), "value"), 1);
	json_decref(lines);
	one.repeats = 1;
	assert_int_equal(quietly(&one), 0);
	lines = read_back();
	is(real(counter(lines, "ones"), "value"), 1);
	is_none(counter(lines, "threes"), "no batch was left");
	assert_true(is_absent(
		json_object_get(json_object_get(first(lines, "trial"), "counting"), "without")));
	json_decref(lines);
}

/*
 * Batches 0, 2, 4 and 6 of a trial count the event. The first two fail, and in the next trial
 * none.
 */
static void what_fails_is_tried_again(void **state)
{
	struct options o = options(&plain, "late");
	json_t *lines, *line;
	size_t i;

	(void)state;
	o.variant = "plain,led";
	assert_int_equal(quietly(&o), 0);
	lines = read_back();
	json_array_foreach(lines, i, line)
	{
		json_t *late = named(json_object_get(line, "counters"), "late");

		if (strcmp(json_string_value(json_object_get(line, "type")), "trial"))
			continue;
		assert_true(real(late, "value") >= 1 && is_absent(json_object_get(late, "why")) &&
			    json_is_true(json_object_get(late, "trusted")));
		is(real(late, "total"), real(late, "samples") * 21);
	}
	line = json_object_get(first(lines, "header"), "counters");
	assert_true(json_is_null(
		json_object_get(named(json_object_get(line, "events"), "late"), "why")));
	json_decref(lines);
}

static int guesses(struct team *team, void *argument)
{
	static const double of[4][3][2] = {
		{ { 4, 1 }, { -1, 3 }, { 2, 0 } }, /* 5 and 4 */
		/* without the sample that one of them did not count, 18 and -1 */
		{ { 9, 9 }, { NAN, 5 }, { 9, -10 } },
		{ { 9, 0 }, { -7, 2 }, { 0, NAN } }, /* 2 and 2 */
		{ { NAN, 1 }, { 1, NAN }, { NAN, NAN } },
	};
	static const char *const why[4] = { NULL, "extrapolated count is negative", NULL,
					    "it got no turn in any sample" };
	const struct place place[2] = { { 0, 0 }, { 0, 0 } };
	const struct trial trial = {
		.benchmark = &plain, .variant = variants, .threads = 2, .place = place
	};
	struct tally t;

	assert_true(tally_open(&t, argument, &trial));
	for (unsigned batch = 0; batch < 4; batch++) {
		const unsigned number = 2 * batch; /* the odd ones count nothing */

		assert_true(tally_room(&t, number + 1));
		assert_true(tally_counts_event(&t, number, 0));
		assert_false(tally_counts(&t, number + 1));
		tally_begin(&t, team, number);
		for (unsigned i = 0; i < 3; i++) {
			memcpy(guess, of[batch][i], sizeof(guess));
			tally_add(&t, number, 10, 2);
		}
		tally_end(&t, team, number);
		if (why[batch])
			assert_non_null(strstr(t.why[0], why[batch]));
	}
	is(t.sum[0].count, 9);
	is(t.sum[0].units, 30);
	assert_int_equal(t.sum[2].samples, 0);
	is(t.sum[4].count, 4);
	is(t.sum[4].units, 20);
	assert_int_equal(t.sum[6].samples, 0);
	is(t.of_worker[0], 7);
	is(t.of_worker[1], 6);
	tally_close(&t);
	return 0;
}

/* Without multiplexing nothing is extrapolated: a negative count has another reason. */
static int falls(struct team *team, void *argument)
{
	const struct place place[2] = { { 0, 0 }, { 0, 0 } };
	const struct trial trial = {
		.benchmark = &plain, .variant = variants, .threads = 2, .place = place
	};
	struct tally t;

	assert_true(tally_open(&t, argument, &trial));
	assert_true(tally_room(&t, 1));
	assert_true(tally_counts_event(&t, 0, 0));
	tally_begin(&t, team, 0);
	memcpy(guess, (const double[]){ -1, 2 }, sizeof(guess));
	tally_add(&t, 0, 10, 2);
	tally_end(&t, team, 0);
	assert_int_equal(t.sum[0].samples, 0);
	assert_non_null(strstr(t.why[0], "its count is negative: its counter runs backwards"));
	tally_close(&t);
	return 0;
}

static void a_counter_that_falls(void **state)
{
	const struct benchmark *b[] = { &plain };
	const struct counting_asked asked = { .list = "guessed" };
	struct counting *c;

	(void)state;
	assert_int_equal(counting_open(&c, asked, b, 1, NULL), COUNTING_READY);
	assert_int_equal(team_open(2, falls, c), 0);
	counting_close(c);
}

/* Extrapolated counts go up and down: only a whole batch of samples has a count, or none. */
static void guesses_are_added_up(void **state)
{
	const struct benchmark *b[] = { &plain };
	const struct counting_asked asked = { .list = "guessed", .multiplex = true };
	struct counting *c;

	(void)state;
	assert_int_equal(counting_open(&c, asked, b, 1, NULL), COUNTING_READY);
	assert_int_equal(team_open(2, guesses, c), 0);
	counting_close(c);
}

static void two_counts_make_a_ratio(void **state)
{
	struct options o = options(&plain, "PAPI_TOT_CYC,PAPI_TOT_INS");
	json_t *lines;

	(void)state;
	assert_int_equal(quietly(&o), 0);
	lines = read_back();
	is(real(counter(lines, "instructions per cycle"), "value"), 1.5);
	assert_string_equal(json_string_value(json_object_get(
				    counter(lines, "instructions per cycle"), "source")),
			    "ratio");
	assert_null(named(json_object_get(first(lines, "trial"), "counters"), "branch miss rate"));
	json_decref(lines);
}

/* Even if no event was asked for. */
static void the_kernels_own_are_always_there(void **state)
{
	static const char *const own[] = { "minor-faults",	 "major-faults",
					   "voluntary-switches", "involuntary-switches",
					   "migrations",	 "steal" };
	struct options o = options(&plain, NULL);
	json_t *lines, *listed, *totals, *samples;

	(void)state;
	assert_int_equal(quietly(&o), 0);
	lines = read_back();
	assert_true(json_is_null(json_object_get(first(lines, "header"), "counters")));
	assert_true(is_absent(json_object_get(first(lines, "trial"), "counting")));
	assert_true(is_absent(json_object_get(first(lines, "samples"), "counters")));
	assert_true(is_absent(json_object_get(first(lines, "trial"), "counters")));
	listed = json_object_get(json_object_get(first(lines, "benchmark"), "counters"), "kernel");
	assert_int_equal(json_array_size(listed), sizeof(own) / sizeof(*own));
	totals = json_object_get(first(lines, "trial"), "kernel");
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
		const json_t *total = json_object_get(totals, own[i]);

		assert_string_equal(
			json_string_value(json_object_get(json_array_get(listed, i), "name")),
			own[i]);
		assert_true(!total || json_number_value(total) > 0);
	}
	samples = json_object_get(first(lines, "trial"), "samples");
	assert_int_equal(json_number_value(json_object_get(samples, "parts")), 7 * 21);
	json_decref(lines);
}

static void what_is_wholly_impossible_ends_the_run(void **state)
{
	const int errors = dup(STDERR_FILENO), kept = memfd_create("stderr", MFD_CLOEXEC);
	struct options o = options(&plain, "lacking,missing"), unset = options(&bare, "default"),
		       failing = options(&plain, "busy,shared,missing");
	char said[1024] = "";
	json_t *lines;

	(void)state;
	dup2(kept, STDERR_FILENO);
	assert_int_equal(quietly(&o), 3);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(quietly(&unset), 3);
	assert_int_equal(quietly(&failing), 3);
	failing.counters_optional = true;
	assert_int_equal(quietly(&failing), 0);
	o.counters_optional = true;
	o.multiplex = true;
	assert_int_equal(quietly(&o), 0);
	dup2(errors, STDERR_FILENO);
	assert_true(multiplexed);
	assert_true(pread(kept, said, sizeof(said) - 1, 0) > 0);
	assert_ptr_equal(strstr(said,
				"locus: --counters: lacking, missing: it is not in the table\n"
				"locus: --counters: bare has no default events: name some\n"
				"locus: --counters: missing: it is not in the table\n"
				"locus: --counters: no event was counted in any sample: it "
				"does not start\n"
				"locus: --counters: missing: it is not in the table\n"
				"locus: --counters: lacking, missing: it is not in the table\n"),
			 said);
	lines = read_back();
	is_none(counter(lines, "missing"), "not in the table");
	is(real(json_object_get(first(lines, "header"), "counters"), "passes"), 0);
	assert_true(is_absent(json_object_get(first(lines, "trial"), "counting")));
	json_decref(lines);
	close(errors);
	close(kept);
}

static int run_on_ranks(const struct ranks *ranks)
{
	struct options o = options(&fourfold, "ones,seconds,local,joules,moves,threes,busy,stuck");

	return engine_run(&o, table, ranks);
}

static int run_on_lacking_ranks(const struct ranks *ranks)
{
	struct options o = options(&fourfold, "local,lacking");

	return engine_run(&o, table, ranks);
}

/* Counts are sums over the ranks; an event that one rank can't count is counted by none. */
static void ranks_count_together(void **state)
{
	char said[4096];
	json_t *lines;

	(void)state;
	unlink(path);
	assert_int_equal(on_all_ranks(run_on_ranks, said, sizeof(said)), 0);
	lines = read_back();
	is(real(counter(lines, "ones"), "value"), 3 * 21 / (10.5 * 4));
	is(real(counter(lines, "seconds"), "value"), 0.125 * 3 * 21 / (10.5 * 4));
	is(real(counter(lines, "ones"), "total"), 3 * 3 * 21);
	/* of the package that they share */
	is(real(counter(lines, "joules"), "value"), 0.5 * 10 / (10.5 * 4));
	assert_int_equal(json_array_size(json_object_get(counter(lines, "threes"), "per_thread")),
			 2 * RANKS);
	is(in_list(counter(lines, "threes"), "per_thread", 3), 3 * 11 / (10.5 * 4));
	for (unsigned i = 1; i < 2 * RANKS; i++)
		assert_true(json_is_null(json_array_get(
			json_object_get(counter(lines, "joules"), "per_thread"), i)));
	is_none(counter(lines, "local"), "on rank 1 (");
	is_none(counter(lines, "moves"), "the ranks' processors");
	is_none(counter(lines, "busy"), "does not start");
	is_none(counter(lines, "stuck"), "on rank 1 (");
	is_none(counter(lines, "stuck"), "does not start");
	assert_non_null(strstr(said, "locus: --counters: local: on rank 1 ("));
	json_decref(lines);
	assert_int_equal(on_all_ranks(run_on_lacking_ranks, NULL, 0), 3);
}

static int sum_reals(const struct ranks *ranks)
{
	double x[2500];

	for (unsigned i = 0; i < 2500; i++)
		x[i] = i + 0.25 + ranks->rank;
	x[7] = ranks->rank == 1 ? NAN : 1;
	x[8] = ranks->rank ? 1e15 : -1e-9;
	agree_sum(ranks, x, 2500);
	if (!isnan(x[7]) || fabs(x[8] - 2e15) > 1)
		return 1;
	for (unsigned i = 9; i < 2500; i++)
		if (fabs(x[i] - (3.0 * i + 3.75)) > 1e-9)
			return 2;
	return 0;
}

static void reals_are_summed_alike(void **state)
{
	double x[2] = { 0.1, NAN };

	(void)state;
	agree_sum(NULL, x, 2);
	/* NOLINT(clang-analyzer-core.UndefinedBinaryOperatorResult) */
	assert_true(x[0] == 0.1 && isnan(x[1]));
	assert_int_equal(on_all_ranks(sum_reals, NULL, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* first: a process must not fork once it has threads of OpenMP */
		cmocka_unit_test(ranks_count_together),
		cmocka_unit_test(reals_are_summed_alike),
		cmocka_unit_test(passes_take_turns),
		cmocka_unit_test(counts_are_of_the_work_that_was_done),
		cmocka_unit_test(counts_are_for_each_of_what_the_benchmark_says),
		cmocka_unit_test(the_default_set_takes_the_first_event_that_there_is),
		cmocka_unit_test(a_suite_counts_for_each_benchmark_what_is_its_own),
		cmocka_unit_test(a_zero_is_believed_of_what_was_seen_to_count),
		cmocka_unit_test(what_was_not_counted_has_a_reason),
		cmocka_unit_test(what_fails_is_tried_again),
		cmocka_unit_test(guesses_are_added_up),
		cmocka_unit_test(a_counter_that_falls),
		cmocka_unit_test(two_counts_make_a_ratio),
		cmocka_unit_test(the_kernels_own_are_always_there),
		cmocka_unit_test(what_is_wholly_impossible_ends_the_run),
	};
	int file = mkstemp(path), failed;

	if (file < 0)
		return 1;
	close(file);
	me = EVERYWHERE - 1;				 /* no rank at all */
	program_invocation_short_name = (char *)"locus"; /* as program_main() sets it */
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return failed;
}
