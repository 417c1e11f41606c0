/* SPDX-License-Identifier: Apache-2.0 */
#include <err.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "count/counters.h"
#include "count/counting.h"
#include "count/duties.h"
#include "harness/record.h"
#include "harness/series.h"
#include "kit/agree.h"
#include "machine/team.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* ---- what was asked for ---- */

/* An event of the list, or a row of a benchmark's set. */
struct wish {
	const struct benchmark *benchmark; /* NULL: of all */
	char *events;			   /* "A|B": the first that can be counted */
	unsigned event;			   /* which one that is, among those of the run */
};

struct counting {
	const struct options *options;
	const struct ranks *ranks;
	struct counters *counters;
	struct wish *wish;
	unsigned wishes;
	/* by event */
	char **name;
	/*
	 * it can't be counted in this run, on whatever rank: told at the beginning, and final;
	 * NULL: it can on all
	 */
	char **why;
	bool *proven; /* on all */
	unsigned events;
	/* of all trials */
	bool tried, counted; /* there was a batch for some event; there was a count */
	char *failure;	     /* the first reason for there being none */
};

static void forget_names(struct counting *c)
{
	for (unsigned i = 0; i < c->events; i++) {
		free(c->name[i]);
		if (c->why)
			free(c->why[i]);
	}
	free(c->name);
	free(c->why);
	free(c->proven);
	c->name = c->why = NULL;
	c->proven = NULL;
	c->events = 0;
}

void counting_close(struct counting *c)
{
	if (!c)
		return;
	counters_close(c->counters);
	forget_names(c);
	for (unsigned i = 0; i < c->wishes; i++)
		free(c->wish[i].events);
	free(c->wish);
	free(c->failure);
	free(c);
}

static bool add_wish(struct counting *c, const struct benchmark *b, const char *events,
		     size_t length)
{
	struct wish *grown = realloc(c->wish, (c->wishes + 1) * sizeof(*grown));

	if (!grown)
		return false;
	c->wish = grown;
	grown[c->wishes] = (struct wish){ .benchmark = b, .events = strndup(events, length) };
	return grown[c->wishes++].events;
}

static bool wish_all(struct counting *c, const struct benchmark *const *benchmarks, unsigned n)
{
	bool good = true;

	for (const char *list = c->options->counters; list && good;) {
		const size_t length = strcspn(list, ",");
		const bool all =
			length == strlen(EVENT_DEFAULT) && !strncmp(list, EVENT_DEFAULT, length);

		for (unsigned i = 0; all && i < n; i++)
			for (const struct explained *e = benchmarks[i]->counters;
			     good && e && e->events; e++)
				good = add_wish(c, benchmarks[i], e->events, strlen(e->events));
		if (!all)
			good = add_wish(c, NULL, list, length);
		list = list[length] ? list + length + 1 : NULL;
	}
	return good;
}

/* The number of an event of that name, which is added unless it is there; -1: no memory. */
static int number_of(struct counting *c, const char *name, size_t length)
{
	char **grown;

	for (unsigned i = 0; i < c->events; i++)
		if (strlen(c->name[i]) == length && !strncmp(c->name[i], name, length))
			return (int)i;
	grown = realloc(c->name, (c->events + 1) * sizeof(*grown));
	if (!grown)
		return -1;
	c->name = grown;
	grown[c->events] = strndup(name, length);
	return grown[c->events] ? (int)c->events++ : -1;
}

/*
 * Tries all that are named, on every rank: in the end all know why one of them can't be counted.
 * What is known not to be has no name any more, which nobody knows: on ranks that could count it,
 * it would take room.
 */
static bool try_names(struct counting *c)
{
	const char **name = calloc(c->events + 1, sizeof(*name));
	bool failed;

	for (unsigned i = 0; name && i < c->events; i++)
		name[i] = c->why && c->why[i] ? "" : c->name[i];
	counters_close(c->counters);
	c->counters = name ? counters_open(name, c->events, c->options->multiplex) : NULL;
	free(name);
	c->why = c->why ? c->why : calloc(c->events + 1, sizeof(*c->why));
	c->proven = calloc(c->events + 1, sizeof(*c->proven));
	failed = !c->counters || !c->why || !c->proven;
	if (agree_any(c->ranks, failed) || failed)
		return false;
	for (unsigned i = 0; i < c->events; i++) {
		const struct event *e = counters_event(c->counters, i);

		if (!e->source && !c->why[i])
			c->why[i] = strdup(e->why ? e->why : "it can't be counted here");
		agree_words(c->ranks, &c->why[i]);
		c->proven[i] = !agree_any(c->ranks, !e->proven);
	}
	return true;
}

/* Ranks count the same in a batch, so that what they count can be added. */
static void compare_passes(struct counting *c)
{
	for (unsigned i = 0; i < c->events; i++) {
		const double pass = counters_event(c->counters, i)->pass;

		if (agree_most(c->ranks, pass) != -agree_most(c->ranks, -pass) && !c->why[i])
			c->why[i] = strdup("the ranks' processors count other events together with "
					   "it: take nodes of one kind, or fewer events");
	}
}

/* Of each wish, the first event that can be counted; where none can, the first. */
static bool choose(struct counting *c, bool known)
{
	bool good = true;

	for (unsigned i = 0; i < c->wishes && good; i++) {
		struct wish *w = &c->wish[i];
		bool found = false;

		for (const char *rest = w->events; rest && good && !found;) {
			const size_t length = strcspn(rest, "|");
			const int event = number_of(c, rest, length);

			good = event >= 0;
			if (good && (rest == w->events || (known && !c->why[event])))
				w->event = (unsigned)event;
			found = good && known && !c->why[event];
			rest = rest[length] ? rest + length + 1 : NULL;
		}
	}
	return good;
}

/* Only the chosen ones are left, with what is known of them: the others would take passes. */
static bool keep_chosen(struct counting *c)
{
	char **name = c->name, **why = c->why;
	const unsigned events = c->events;
	bool good;

	c->name = NULL;
	c->why = calloc(c->wishes + 1, sizeof(*c->why));
	c->events = 0;
	good = c->why;
	for (unsigned i = 0; i < c->wishes && name && good; i++) {
		const unsigned old = c->wish[i].event;
		const int event = number_of(c, name[old], strlen(name[old]));

		good = event >= 0;
		c->wish[i].event = good ? (unsigned)event : 0;
		if (good && !c->why[event]) {
			c->why[event] = why[old];
			why[old] = NULL;
		}
	}
	for (unsigned i = 0; i < events && name && why; i++) {
		free(name[i]);
		free(why[i]);
	}
	free(name);
	free(why);
	free(c->proven);
	c->proven = NULL;
	return good;
}

static bool resolve(struct counting *c, const struct benchmark *const *benchmarks, unsigned n)
{
	bool failed = !wish_all(c, benchmarks, n) || !choose(c, false);

	if (agree_any(c->ranks, failed) || !try_names(c))
		return false;
	failed = !choose(c, true) || !keep_chosen(c);
	if (agree_any(c->ranks, failed))
		return false;
	if (!try_names(c))
		return false;
	compare_passes(c);
	return true;
}

static int refuse(struct counting **counting, const struct ranks *ranks, int status)
{
	if (status == EXIT_BAD && is_first(ranks))
		warnx("--counters: out of memory");
	counting_close(*counting);
	*counting = NULL;
	return status;
}

/* A line for each reason: many events have the same. */
static void complain(const struct counting *c)
{
	for (unsigned i = 0; i < c->events; i++) {
		bool said = !c->why[i];

		for (unsigned j = 0; j < i && !said; j++)
			said = c->why[j] && !strcmp(c->why[i], c->why[j]);
		if (said)
			continue;
		fprintf(stderr, "%s: --counters: %s", program_invocation_short_name, c->name[i]);
		for (unsigned j = i + 1; j < c->events; j++)
			if (c->why[j] && !strcmp(c->why[i], c->why[j]))
				fprintf(stderr, ", %s", c->name[j]);
		fprintf(stderr, ": %s\n", c->why[i]);
	}
}

int counting_open(struct counting **counting, const struct options *o,
		  const struct benchmark *const *benchmarks, unsigned n, const struct ranks *ranks)
{
	struct counting *c;
	unsigned good = 0;

	*counting = NULL;
	if (!o->counters)
		return 0;
	*counting = c = calloc(1, sizeof(*c));
	if (agree_any(ranks, !c) || !c)
		return refuse(counting, ranks, EXIT_BAD);
	c->options = o;
	c->ranks = ranks;
	if (!resolve(c, benchmarks, n))
		return refuse(counting, ranks, EXIT_BAD);
	for (unsigned i = 0; i < c->events; i++)
		good += !c->why[i];
	if (is_first(ranks))
		complain(c);
	if (!c->events && is_first(ranks))
		warnx("--counters: there is no default set for %s: name events",
		      benchmarks[0]->name);
	return good || o->counters_optional ? 0 : refuse(counting, ranks, EXIT_IMPOSSIBLE);
}

static const char *scope_name(const struct event *e)
{
	return e->scope == SCOPE_PACKAGE ? "package" : "thread";
}

static json_t *event_json(const struct counting *c, unsigned i)
{
	const struct event *e = counters_event(c->counters, i);
	const char *why = c->why[i];

	return json_pack("{s:o?, s:s?, s:o?, s:s, s:o, s:b, s:o?}", "name", utf8_json(c->name[i]),
			 "source", why ? NULL : e->source, "unit",
			 utf8_json(e->unit ? e->unit : "1"), "scope", scope_name(e), "pass",
			 why ? json_null() : json_integer((json_int_t)e->pass), "proven",
			 !why && c->proven[i], "why", utf8_json(why));
}

int counting_status(struct counting *c)
{
	if (!c || !c->tried || c->counted || c->options->counters_optional)
		return 0;
	if (is_first(c->ranks))
		warnx("--counters: in no sample could anything be counted: %s",
		      c->failure ? c->failure : "no memory");
	return EXIT_IMPOSSIBLE;
}

json_t *counting_header_json(const struct counting *c)
{
	json_t *asked = json_array(), *events = json_array();
	const char *list = c ? c->options->counters : NULL, *why = NULL, *library;
	unsigned passes = 0;

	if (!c) {
		json_decref(asked);
		json_decref(events);
		return json_null();
	}
	while (list) {
		const size_t length = strcspn(list, ",");

		char *name = strndup(list, length);

		json_array_append_new(asked, utf8_json(name));
		free(name);
		list = list[length] ? list + length + 1 : NULL;
	}
	for (unsigned i = 0; i < c->events; i++) {
		const unsigned pass = counters_event(c->counters, i)->pass;

		passes = !c->why[i] && pass >= passes ? pass + 1 : passes;
		json_array_append_new(events, event_json(c, i));
	}
	library = counters_library(c->counters, &why);
	return json_pack("{s:o, s:b, s:b, s:i, s:o?, s:o?, s:o}", "asked", asked, "optional",
			 c->options->counters_optional, "multiplexed", c->options->multiplex,
			 "passes", (int)passes, "papi", utf8_json(library), "papi_why",
			 library ? NULL : utf8_json(why), "events", events);
}

/* ---- what a trial's samples came to ---- */

static bool wishes(const struct counting *c, const struct benchmark *b, unsigned event)
{
	for (unsigned i = 0; i < c->wishes; i++)
		if (c->wish[i].event == event &&
		    (!c->wish[i].benchmark || c->wish[i].benchmark == b))
			return true;
	return false;
}

const char *counting_event(const struct counting *c, const struct benchmark *b, unsigned n)
{
	for (unsigned i = 0; c && i < c->events; i++)
		if (!c->why[i] && wishes(c, b, i) && !n--)
			return c->name[i];
	return NULL;
}

static const struct event *event_of(const struct tally *t, unsigned i)
{
	return counters_event(t->counting->counters, t->event[i]);
}

static bool is_in(const struct tally *t, unsigned i, unsigned pass)
{
	return !t->counting->why[t->event[i]] && event_of(t, i)->pass == pass;
}

static void note_pass(struct tally *t, unsigned pass)
{
	for (unsigned i = 0; i < t->passes; i++)
		if (t->pass[i] == pass)
			return;
	t->pass[t->passes++] = pass;
}

static bool is_duty(const struct tally *t, unsigned i, unsigned worker)
{
	return t->duty[(size_t)t->event[i] * t->trial->threads + worker];
}

bool tally_open(struct tally *t, struct counting *c, const struct trial *trial)
{
	const struct ranks *ranks = trial->ranks;
	const unsigned threads = trial->threads;

	*t = (struct tally){ .counting = c, .trial = trial, .workers = threads };
	if (!c)
		return true;
	t->duty = duties_find(c->counters, trial->place, threads, rank_of(ranks),
			      ranks ? ranks->most_here : NULL);
	t->event = calloc(c->events + 1, sizeof(*t->event));
	t->pass = calloc(c->events + 1, sizeof(*t->pass));
	t->why = calloc(c->events + 1, sizeof(*t->why));
	t->sample = calloc(c->events + 1, sizeof(*t->sample));
	t->of_worker = calloc((size_t)c->events * threads + 1, sizeof(*t->of_worker));
	t->of_batch = calloc((size_t)c->events * threads + 1, sizeof(*t->of_batch));
	if (!t->duty || !t->event || !t->pass || !t->why || !t->sample || !t->of_worker ||
	    !t->of_batch)
		return false;
	for (unsigned i = 0; i < c->events; i++) {
		if (!wishes(c, trial->benchmark, i))
			continue;
		t->event[t->events++] = i;
		if (!c->why[i])
			note_pass(t, counters_event(c->counters, i)->pass);
	}
	for (unsigned i = 0; i < t->events; i++)
		for (unsigned w = 0; w < threads; w++)
			t->of_worker[(size_t)i * threads + w] = is_duty(t, i, w) ? 0 : NAN;
	return true;
}

void tally_close(struct tally *t)
{
	for (unsigned i = 0; i < t->events; i++)
		free(t->why[i]);
	free(t->duty);
	free(t->event);
	free(t->pass);
	free(t->why);
	free(t->sample);
	free(t->of_worker);
	free(t->of_batch);
	free(t->sum);
}

bool tally_room(struct tally *t, unsigned batches)
{
	const unsigned room = t->room ? 2 * t->room : 64;
	struct sum *grown;

	if (!t->events || batches <= t->room)
		return true;
	grown = realloc(t->sum, (size_t)room * t->events * sizeof(*grown));
	if (!grown)
		return false;
	memset(grown + (size_t)t->room * t->events, 0,
	       (size_t)(room - t->room) * t->events * sizeof(*grown));
	t->sum = grown;
	t->room = room;
	return true;
}

unsigned tally_begin(struct tally *t, struct team *team, unsigned batch)
{
	const unsigned turn = batch % (t->passes + 1),
		       pass = turn < t->passes ? t->pass[turn] : UNCOUNTED;

	if (pass == UNCOUNTED)
		return pass;
	memset(t->of_batch, 0, (size_t)t->events * t->trial->threads * sizeof(*t->of_batch));
	counters_start(t->counting->counters, team, pass, t->duty);
	return pass;
}

/* Of one sample, on this rank; NAN: somebody whose duty it was did not count all of it. */
static double count_of_all(const struct tally *t, unsigned i)
{
	double sum = 0;

	for (unsigned w = 0; w < t->trial->threads; w++)
		sum += is_duty(t, i, w) ? counters_value(t->counting->counters, w, t->event[i]) : 0;
	return sum;
}

/* What all ranks do together counts for each: of an amount, theirs is one. */
static double ranks_that_count(const struct tally *t)
{
	return t->trial->benchmark->part.amount ? ranks_of(t->trial->ranks) : 1;
}

void tally_add(struct tally *t, unsigned batch, unsigned pass, double done, unsigned workers)
{
	const double units = t->trial->benchmark->part.amount ? done / workers : done;
	const unsigned threads = t->trial->threads;

	t->done += units;
	if (pass == UNCOUNTED)
		return;
	for (unsigned i = 0; i < t->events; i++)
		t->sample[i] = is_in(t, i, pass) ? count_of_all(t, i) : NAN;
	t->sample[t->events] = units;
	agree_sum(t->trial->ranks, t->sample, t->events + 1);
	for (unsigned i = 0; i < t->events; i++) {
		struct sum *sum = &t->sum[(size_t)batch * t->events + i];

		if (!isfinite(t->sample[i]))
			continue;
		sum->count += t->sample[i];
		sum->units += t->sample[t->events] / ranks_that_count(t);
		sum->samples++;
		for (unsigned w = 0; w < threads; w++)
			if (is_duty(t, i, w))
				t->of_batch[(size_t)i * threads + w] +=
					counters_value(t->counting->counters, w, t->event[i]);
	}
}

/* On any rank: what was extrapolated, and taken back, more than there was. */
static bool is_negative(const struct tally *t, unsigned i)
{
	bool any = false;

	for (unsigned w = 0; w < t->trial->threads; w++)
		any |= t->of_batch[(size_t)i * t->trial->threads + w] < 0;
	return agree_any(t->trial->ranks, any);
}

/*
 * Why a batch has no count of an event: the same on all ranks. NULL: it was started, but in no
 * sample counted.
 */
static void explain(struct tally *t, unsigned i, const char *why)
{
	struct counting *c = t->counting;

	free(t->why[i]);
	t->why[i] = why ? strdup(why) : NULL;
	agree_words(t->trial->ranks, &t->why[i]);
	if (!t->why[i])
		t->why[i] = strdup(
			c->options->multiplex
				? "its turn came in no sample: make them longer (--duration), ask "
				  "for fewer events, or go without --multiplex"
				: "it was counted all through in no sample: something else takes "
				  "the processor's counters (the NMI "
				  "watchdog takes one: sysctl kernel.nmi_watchdog=0)");
	if (!c->failure && t->why[i])
		c->failure = strdup(t->why[i]);
}

static const char *less_than_none(const struct tally *t)
{
	return t->counting->options->multiplex
		       ? "its samples came to less than none, as extrapolated counts may: make "
			 "them longer (--duration), or go without --multiplex"
		       : "its samples came to less than none: its counter goes back, or somebody "
			 "else sets it (pgrep -a 'perf|likwid|papi|pmda')";
}

static void settle(struct tally *t, unsigned i, struct sum *sum)
{
	const unsigned threads = t->trial->threads;
	const bool negative = is_negative(t, i);

	if (negative)
		*sum = (struct sum){ 0 };
	for (unsigned w = 0; w < threads && sum->samples; w++)
		t->of_worker[(size_t)i * threads + w] += t->of_batch[(size_t)i * threads + w];
	t->counting->tried = true;
	t->counting->counted |= sum->samples;
	if (!sum->samples)
		explain(t, i,
			negative ? less_than_none(t)
				 : counters_failure(t->counting->counters, t->event[i]));
}

void tally_end(struct tally *t, struct team *team, unsigned batch, unsigned pass)
{
	if (pass == UNCOUNTED)
		return;
	counters_stop(t->counting->counters, team);
	for (unsigned i = 0; i < t->events; i++)
		if (is_in(t, i, pass))
			settle(t, i, &t->sum[(size_t)batch * t->events + i]);
}

/*
 * Each brings its own, and nothing for the others. Without memory for it, per_thread is left as it
 * is: this rank's.
 */
static void gather_workers(struct tally *t)
{
	const unsigned threads = t->trial->threads, rank = t->trial->ranks->rank,
		       all = threads * t->trial->ranks->ranks;
	double *wide = calloc((size_t)t->events * all + 1, sizeof(*wide));

	if (agree_any(t->trial->ranks, !wide)) {
		free(wide);
		return;
	}
	for (unsigned i = 0; i < t->events && wide; i++) {
		memcpy(wide + (size_t)i * all + (size_t)rank * threads,
		       t->of_worker + (size_t)i * threads, threads * sizeof(*wide));
		agree_sum(t->trial->ranks, wide + (size_t)i * all, all);
	}
	free(t->of_worker);
	t->of_worker = wide;
	t->workers = all;
}

void tally_gather(struct tally *t)
{
	const struct ranks *ranks = t->trial->ranks;

	if (!ranks)
		return;
	agree_sum(ranks, &t->done, 1);
	t->done /= ranks_that_count(t);
	gather_workers(t);
}

/* ---- what is said of it ---- */

json_t *tally_batch_json(const struct tally *t, unsigned batch, unsigned pass)
{
	json_t *object = json_object();

	for (unsigned i = 0; i < t->events && pass != UNCOUNTED; i++)
		if (t->sum[(size_t)batch * t->events + i].samples)
			json_object_set_new(object, t->counting->name[t->event[i]],
					    number(t->sum[(size_t)batch * t->events + i].count));
	return object;
}

/* Of one event in all batches. */
struct came_to {
	struct sum sum;
	struct estimate each; /* count for each of what the benchmark says */
};

static double amount(const struct tally *t)
{
	double (*const amount)(const struct trial *) = t->trial->benchmark->part.amount;

	return amount ? amount(t->trial) : 1;
}

/*
 * The number is the sum of all counts over all units, for many events are rare, and the median of
 * what batches have seen of these is none. The interval is of the batches, and wide enough to hold
 * it.
 */
static struct came_to come_to(const struct series *s, unsigned event)
{
	const struct tally *t = &s->tally;
	struct came_to c = { .each = { NAN, NAN, NAN } };
	double *rate = calloc(s->batches + 1, sizeof(*rate));

	for (unsigned i = 0; rate && i < s->batches; i++) {
		const struct sum *sum = &t->sum[(size_t)i * t->events + event];

		rate[i] = sum->units > 0 ? sum->count / (sum->units * amount(t)) : NAN;
		c.sum.count += sum->count;
		c.sum.units += sum->units * amount(t);
		c.sum.samples += sum->samples;
	}
	if (rate && c.sum.units > 0) {
		c.each = series_estimate(s, -1, rate);
		c.each.value = c.sum.count / c.sum.units;
		c.each.low = isfinite(c.each.low) ? fmin(c.each.low, c.each.value) : NAN;
		c.each.high = isfinite(c.each.high) ? fmax(c.each.high, c.each.value) : NAN;
	}
	free(rate);
	return c;
}

const char *counting_gap(const struct series *s, unsigned event, unsigned *counted,
			 unsigned *batches)
{
	const struct tally *t = &s->tally;

	*counted = *batches = 0;
	for (unsigned i = 0; i < s->batches; i++) {
		if (!is_in(t, event, s->batch[i].pass))
			continue;
		*counted += t->sum[(size_t)i * t->events + event].samples > 0;
		++*batches;
	}
	return *counted && 2 * *counted < *batches ? t->why[event] : NULL;
}

const char *per_name(const struct benchmark *b)
{
	return b->part.name ? b->part.name : b->unit;
}

/* Why there is no number; NULL: there is one. */
static const char *why_none(const struct tally *t, unsigned i, struct came_to c)
{
	const char *why = t->counting->why[t->event[i]];

	if (isfinite(c.each.value))
		return NULL;
	if (why || t->why[i])
		return why ? why : t->why[i];
	return "no batch was left for the pass that counts it: allow more time or --repeats, or "
	       "ask for fewer events";
}

static json_t *threads_json(const struct tally *t, unsigned i, struct came_to c)
{
	json_t *list = json_array();

	for (unsigned w = 0; w < t->workers; w++)
		json_array_append_new(
			list, number(t->of_worker[(size_t)i * t->workers + w] / c.sum.units));
	return list;
}

static json_t *event_counter(const struct series *s, unsigned i, const char *why_not)
{
	const struct tally *t = &s->tally;
	const struct event *e = event_of(t, i);
	const struct came_to c = come_to(s, i);
	const char *why = why_not ? why_not : why_none(t, i, c);
	const bool hardware = e->source && strcmp(e->source, "kernel");
	const bool none = why, doubtful = !why && hardware && c.sum.count == 0 &&
					  !t->counting->proven[t->event[i]];

	if (doubtful)
		why = "it reads zero in all samples, and no probe saw it count either: here "
		      "nothing may count it, as in many virtual machines";
	return json_pack("{s:o?, s:s?, s:o?, s:s, s:s, s:o, s:o, s:o, s:o, s:i, s:b, s:o?}", "name",
			 utf8_json(t->counting->name[t->event[i]]), "source",
			 t->counting->why[t->event[i]] ? NULL : e->source, "unit",
			 utf8_json(e->unit ? e->unit : "1"), "scope", scope_name(e), "per",
			 per_name(t->trial->benchmark), "value",
			 none ? json_null() : number(c.each.value), "ci",
			 none ? json_null() : interval(c.each.low, c.each.high), "per_thread",
			 none ? json_null() : threads_json(t, i, c), "total",
			 none ? json_null() : number(c.sum.count), "samples", (int)c.sum.samples,
			 "trusted", !doubtful, "why", utf8_json(why));
}

/* What two counts say together. The first row of a name whose events were both counted. */
static const struct quotient {
	const char *name, *per, *of, *over;
} quotients[] = {
	{ "instructions per cycle", "cycle", "PAPI_TOT_INS", "PAPI_TOT_CYC" },
	{ "instructions per cycle", "cycle", "perf::INSTRUCTIONS", "perf::CYCLES" },
	{ "instructions per cycle", "cycle", "perf::INSTRUCTIONS", "perf::CPU-CYCLES" },
	{ "branch miss rate", "branch", "PAPI_BR_MSP", "PAPI_BR_CN" },
	{ "branch miss rate", "branch", "PAPI_BR_MSP", "PAPI_BR_INS" },
	{ "branch miss rate", "branch", "perf::BRANCH-MISSES", "perf::BRANCH-INSTRUCTIONS" },
	{ "branch miss rate", "branch", "perf::BRANCH-MISSES", "perf::BRANCHES" },
	{ "L1 miss rate", "access", "PAPI_L1_DCM", "PAPI_L1_DCA" },
	{ "L1 miss rate", "load", "perf::L1-DCACHE-LOAD-MISSES", "perf::L1-DCACHE-LOADS" },
	{ "L2 miss rate", "access", "PAPI_L2_DCM", "PAPI_L2_DCA" },
	{ "L2 miss rate", "access", "PAPI_L2_TCM", "PAPI_L2_TCA" },
	{ "L3 miss rate", "access", "PAPI_L3_TCM", "PAPI_L3_TCA" },
	{ "last cache's miss rate", "access", "perf::CACHE-MISSES", "perf::CACHE-REFERENCES" },
	{ "TLB miss rate", "load", "perf::DTLB-LOAD-MISSES", "perf::DTLB-LOADS" },
	{ "remote share", "load", "perf::NODE-LOAD-MISSES", "perf::NODE-LOADS" },
};

static const json_t *counter_of(const json_t *list, const char *name)
{
	const json_t *counter;
	size_t i;

	json_array_foreach(list, i,
			   counter) if (!strcmp(json_string_value(json_object_get(counter, "name")),
						name)) return counter;
	return NULL;
}

static double value_of(const json_t *counter)
{
	return real_of(json_object_get(counter, "value"));
}

static double bound_of(const json_t *counter, size_t upper)
{
	return real_of(json_array_get(json_object_get(counter, "ci"), upper));
}

/* NULL where one of the two was not counted. */
static json_t *quotient_json(const struct quotient *q, const json_t *of, const json_t *over)
{
	const double value = value_of(of) / value_of(over), least = bound_of(over, 0);
	const struct estimate e = { value, bound_of(of, 0) / bound_of(over, 1),
				    least > 0 ? bound_of(of, 1) / least : NAN };
	const bool trusted = json_is_true(json_object_get(of, "trusted")) &&
			     json_is_true(json_object_get(over, "trusted"));
	const json_int_t n = json_integer_value(json_object_get(of, "samples")),
			 m = json_integer_value(json_object_get(over, "samples"));

	if (!of || !over || !isfinite(value))
		return NULL;
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:f, s:o, s:n, s:n, s:I, s:b, s:s?}", "name",
			 q->name, "source", "ratio", "unit", "1", "scope", "thread", "per", q->per,
			 "value", value, "ci", interval(e.low, e.high), "per_thread", "total",
			 "samples", n < m ? n : m, "trusted", trusted, "why",
			 trusted ? NULL : "one of the two counts is doubtful");
}

static void add_quotients(json_t *list)
{
	for (size_t i = 0; i < LENGTH(quotients); i++) {
		const struct quotient *q = &quotients[i];
		json_t *ratio = counter_of(list, q->name)
					? NULL
					: quotient_json(q, counter_of(list, q->of),
							counter_of(list, q->over));

		if (ratio)
			json_array_append_new(list, ratio);
	}
}

/* What the evidence of noise holds anyway, of all samples. */
static void add_own(json_t *list, const struct series *s, const char *why_not)
{
	const struct noise *n = &s->noise;
	const struct {
		const char *name, *unit;
		double total;
	} own[] = {
		{ "minor-faults", "1", (double)n->minor_faults },
		{ "major-faults", "1", (double)n->major_faults },
		{ "voluntary-switches", "1", (double)n->voluntary },
		{ "involuntary-switches", "1", (double)n->involuntary },
		{ "migrations", "1", (double)n->migrations },
		{ "steal", "s", n->steal },
	};

	for (size_t i = 0; i < LENGTH(own); i++) {
		const double each =
			why_not ? NAN : own[i].total / (s->tally.done * amount(&s->tally));
		const char *why = isfinite(each)	   ? NULL
				  : why_not		   ? why_not
				  : isfinite(own[i].total) ? "no unit of work was done"
							   : "the kernel did not tell it";

		if (counter_of(list, own[i].name))
			continue;
		json_array_append_new(
			list,
			json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:n, s:n, s:o, s:i, s:b, s:s?}",
				  "name", own[i].name, "source", "kernel", "unit", own[i].unit,
				  "scope", "thread", "per", per_name(s->planned->trial.benchmark),
				  "value", number(each), "ci", "per_thread", "total",
				  why_not ? json_null() : number(own[i].total), "samples",
				  (int)s->samples, "trusted", true, "why", why));
	}
}

json_t *counters_json(const struct series *s, const char *why)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < s->tally.events; i++)
		json_array_append_new(list, event_counter(s, i, why));
	add_quotients(list);
	add_own(list, s, why);
	return list;
}

/* The time of the batches that counted something, or of the others. */
static struct estimate time_of(const struct series *s, bool counted)
{
	double *x = calloc(s->batches + 1, sizeof(*x));
	struct estimate e = { NAN, NAN, NAN };

	for (unsigned i = 0; x && i < s->batches; i++)
		x[i] = (s->batch[i].pass != UNCOUNTED) == counted ? s->batch[i].estimate : NAN;
	if (x)
		e = series_estimate(s, -1, x);
	free(x);
	return e;
}

json_t *counting_json(const struct series *s)
{
	const struct estimate with = time_of(s, true), without = time_of(s, false);

	if (!s->tally.passes || !s->samples)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o}", "with", number(with.value), "with_ci",
			 interval(with.low, with.high), "without", number(without.value),
			 "without_ci", interval(without.low, without.high));
}
