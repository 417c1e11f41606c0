/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "base/utf8.h"
#include "count/counting.h"
#include "kit/agree.h"

/* --- wishes --- */

static void candidates_free(struct candidates *c)
{
	for (unsigned i = 0; i < c->n; i++) {
		free(c->of[i].name);
		free(c->of[i].why);
	}
	free(c->of);
}

static bool add(struct wishes *w, const struct benchmark *b, const char *events, size_t length)
{
	struct wish *grown = realloc(w->wish, (w->n + 1) * sizeof(*grown));

	if (!grown)
		return false;
	w->wish = grown;
	grown[w->n] = (struct wish){ .benchmark = b, .events = strndup(events, length) };
	return grown[w->n++].events;
}

/* The rest of a list after a name; NULL: its end. */
static const char *behind(const char *name, size_t length)
{
	return name[length] ? name + length + 1 : NULL;
}

/*
 * Reads the wishes of a list, for the n benchmarks that will run. False: ENOMEM; to be freed in
 * either case.
 */
static bool wishes_read(struct wishes *w, const char *list,
			const struct benchmark *const *benchmarks, unsigned n)
{
	bool good = true;

	*w = (struct wishes){ 0 };
	while (list && good) {
		const size_t length = strcspn(list, ",");
		const bool all =
			length == strlen(EVENT_DEFAULT) && !strncmp(list, EVENT_DEFAULT, length);

		for (unsigned i = 0; all && i < n; i++)
			for (const struct explained *e = benchmarks[i]->counters;
			     good && e && e < benchmarks[i]->counters + benchmarks[i]->n_counters;
			     e++)
				good = add(w, benchmarks[i], e->events, strlen(e->events));
		if (!all)
			good = add(w, NULL, list, length);
		list = behind(list, length);
	}
	return good;
}

static void wishes_free(struct wishes *w)
{
	for (unsigned i = 0; i < w->n; i++)
		free(w->wish[i].events);
	free(w->wish);
}

/* The index of the candidate of that name, which is added if missing; -1: ENOMEM. */
static int number_of(struct candidates *c, const char *name, size_t length)
{
	struct candidate *grown;

	for (unsigned i = 0; i < c->n; i++)
		if (strlen(c->of[i].name) == length && !strncmp(c->of[i].name, name, length))
			return (int)i;
	grown = realloc(c->of, (c->n + 1) * sizeof(*grown));
	if (!grown)
		return -1;
	c->of = grown;
	grown[c->n] = (struct candidate){ .name = strndup(name, length) };
	return grown[c->n].name ? (int)c->n++ : -1;
}

/*
 * Adds all events named by wishes, without duplicates; each wish chooses its first. False: ENOMEM.
 */
static bool wishes_collect(struct wishes *w, struct candidates *c)
{
	bool good = true;

	for (struct wish *wish = w->wish; good && wish < w->wish + w->n; wish++)
		for (const char *name = wish->events; good && name;) {
			const size_t length = strcspn(name, "|");
			const int event = number_of(c, name, length);

			good = event >= 0;
			if (good && name == wish->events)
				wish->event = (unsigned)event;
			name = behind(name, length);
		}
	return good;
}

static void choose(struct wish *w, struct candidates *c)
{
	for (const char *name = w->events; name && c->of[w->event].why;) {
		const size_t length = strcspn(name, "|");
		const int event = number_of(c, name, length); /* added by wishes_collect() */

		if (event >= 0 && !c->of[event].why)
			w->event = (unsigned)event;
		name = behind(name, length);
	}
}

/* Drops candidates that no wish chose. */
static bool keep(struct wishes *w, struct candidates *c)
{
	struct candidates kept = { 0 };
	bool good = true;

	for (unsigned i = 0; i < w->n && good; i++) {
		struct candidate *old = &c->of[w->wish[i].event];
		const int event = number_of(&kept, old->name, strlen(old->name));

		good = event >= 0;
		w->wish[i].event = good ? (unsigned)event : 0;
		if (good && !kept.of[event].why) {
			kept.of[event].why = old->why;
			old->why = NULL;
		}
	}
	candidates_free(c);
	*c = kept;
	return good;
}

/*
 * Each wish chooses its first event that has no `why`; if all have one, its first event. Candidates
 * that no wish chose are dropped, since they would take passes. False: ENOMEM.
 */
static bool wishes_choose(struct wishes *w, struct candidates *c)
{
	for (unsigned i = 0; i < w->n; i++)
		choose(&w->wish[i], c);
	return keep(w, c);
}

bool wishes_mean(const struct wishes *w, unsigned event, const struct benchmark *b)
{
	for (unsigned i = 0; i < w->n; i++)
		if (w->wish[i].event == event &&
		    (!w->wish[i].benchmark || w->wish[i].benchmark == b))
			return true;
	return false;
}

/* --- counting --- */

void counting_close(struct counting *c)
{
	if (!c)
		return;
	counters_close(c->counters);
	candidates_free(&c->events);
	wishes_free(&c->wishes);
	free(c->failure);
	free(c);
}

/*
 * Events already ruled out get an empty name: otherwise this rank might count them, and they would
 * take counters.
 */
static struct counters *open_counters(const struct counting *c)
{
	const char **name = calloc(c->events.n + 1, sizeof(*name));
	struct counters *counters;

	for (unsigned i = 0; name && i < c->events.n; i++)
		name[i] = c->events.of[i].why ? "" : c->events.of[i].name;
	counters = name ? counters_open(name, c->events.n, c->asked.multiplex) : NULL;
	free(name);
	return counters;
}

/* Tries all events on every rank, and agrees on the reasons why some can't be counted. */
static bool try_events(struct counting *c)
{
	counters_close(c->counters);
	c->counters = open_counters(c);
	if (agree_any(c->ranks, !c->counters) || !c->counters)
		return false;
	for (unsigned i = 0; i < c->events.n; i++) {
		const struct event *e = counters_event(c->counters, i);
		struct candidate *event = &c->events.of[i];

		if (!e->source && !event->why)
			event->why = strdup(e->why ? e->why : "it can't be counted here");
		agree_words(c->ranks, &event->why);
		event->proven = !agree_any(c->ranks, !e->proven);
	}
	return true;
}

/* An event must be in the same pass on all ranks, so that their counts can be added. */
static void compare_passes(struct counting *c)
{
	for (unsigned i = 0; i < c->events.n; i++) {
		const double pass = counters_event(c->counters, i)->pass;

		if (agree_most(c->ranks, pass) != -agree_most(c->ranks, -pass) &&
		    !c->events.of[i].why)
			c->events.of[i].why =
				strdup("the ranks' processors need different passes for it: use "
				       "nodes of one kind, or fewer events");
	}
}

static bool resolve(struct counting *c, const struct benchmark *const *benchmarks, unsigned n)
{
	bool good = wishes_read(&c->wishes, c->asked.list, benchmarks, n) &&
		    wishes_collect(&c->wishes, &c->events);

	if (agree_any(c->ranks, !good) || !try_events(c))
		return false;
	good = wishes_choose(&c->wishes, &c->events);
	if (agree_any(c->ranks, !good) || !try_events(c))
		return false;
	compare_passes(c);
	return true;
}

static bool same_reason(const struct counting *c, unsigned i, unsigned j)
{
	return c->events.of[j].why && !strcmp(c->events.of[i].why, c->events.of[j].why);
}

/* Prints an event, the others that can't be counted for the same reason, and the reason. */
static void complain_of(const struct counting *c, unsigned i)
{
	char *names = NULL;
	size_t size;
	FILE *f = open_memstream(&names, &size);

	for (unsigned j = i + 1; f && j < c->events.n; j++)
		if (same_reason(c, i, j))
			fprintf(f, ", %s", c->events.of[j].name);
	if (f)
		fclose(f);
	message_own("--counters: %s%s: %s", c->events.of[i].name, names ? names : "",
		    c->events.of[i].why);
	free(names);
}

/* Prints one line for each reason, since many events share one. */
static void complain(const struct counting *c)
{
	for (unsigned i = 0; i < c->events.n; i++) {
		bool said = !c->events.of[i].why;

		for (unsigned j = 0; j < i && !said; j++)
			said = same_reason(c, i, j);
		if (!said)
			complain_of(c, i);
	}
}

static enum counting_outcome no_memory(const struct ranks *ranks)
{
	if (rank_is_first(ranks))
		message_own("--counters: out of memory");
	return COUNTING_NO_MEMORY;
}

enum counting_outcome counting_open(struct counting **counting, struct counting_asked asked,
				    const struct benchmark *const *benchmarks, unsigned n,
				    const struct ranks *ranks)
{
	struct counting *c = calloc(1, sizeof(*c));
	unsigned good = 0;

	*counting = c;
	if (agree_any(ranks, !c) || !c)
		return no_memory(ranks);
	c->asked = asked;
	c->ranks = ranks;
	if (!resolve(c, benchmarks, n))
		return no_memory(ranks);
	for (unsigned i = 0; i < c->events.n; i++)
		good += !c->events.of[i].why;
	if (rank_is_first(ranks))
		complain(c);
	if (!c->events.n && rank_is_first(ranks))
		message_own("--counters: %s has no default events: name some", benchmarks[0]->name);
	return good || asked.optional ? COUNTING_READY : COUNTING_IMPOSSIBLE;
}

void counting_learn(struct counting *c, bool counted, const char *why)
{
	c->tried = true;
	c->counted |= counted;
	if (!counted && !c->failure && why)
		c->failure = strdup(why);
}

bool counting_succeeded(const struct counting *c)
{
	if (!c || !c->tried || c->counted || c->asked.optional)
		return true;
	if (rank_is_first(c->ranks))
		message_own("--counters: no event was counted in any sample: %s",
			    c->failure ? c->failure : "no memory");
	return false;
}

const char *counting_event(const struct counting *c, const struct benchmark *b, unsigned n)
{
	for (unsigned i = 0; c && i < c->events.n; i++)
		if (!c->events.of[i].why && wishes_mean(&c->wishes, i, b) && !n--)
			return c->events.of[i].name;
	return NULL;
}

const char *counting_per(const struct benchmark *b)
{
	return b->unit.part ? b->unit.part : b->unit.name;
}

const char *counting_scope(const struct event *e)
{
	return e->scope == SCOPE_PACKAGE ? "package" : "thread";
}

static json_t *event_json(const struct counting *c, unsigned i)
{
	const struct event *e = counters_event(c->counters, i);
	const struct candidate *event = &c->events.of[i];

	return json_pack("{s:o?, s:s?, s:o?, s:s, s:o, s:b, s:o?}", "name", utf8_json(event->name),
			 "source", event->why ? NULL : e->source, "unit",
			 utf8_json(e->unit ? e->unit : "1"), "scope", counting_scope(e), "pass",
			 event->why ? json_null() : json_integer((json_int_t)e->pass), "proven",
			 !event->why && event->proven, "why", utf8_json(event->why));
}

static json_t *asked_json(const char *list)
{
	json_t *asked = json_array();

	while (list) {
		const size_t length = strcspn(list, ",");
		char *name = strndup(list, length);

		json_array_append_new(asked, utf8_json(name));
		free(name);
		list = list[length] ? list + length + 1 : NULL;
	}
	return asked;
}

json_t *counting_header_json(const struct counting *c)
{
	const char *why = NULL, *library;
	unsigned passes = 0;
	json_t *events;

	if (!c)
		return json_null();
	events = json_array();
	for (unsigned i = 0; i < c->events.n; i++) {
		const unsigned pass = counters_event(c->counters, i)->pass;

		passes = !c->events.of[i].why && pass >= passes ? pass + 1 : passes;
		json_array_append_new(events, event_json(c, i));
	}
	library = counters_library(c->counters, &why);
	return json_pack("{s:o, s:b, s:b, s:i, s:o?, s:o?, s:o}", "asked",
			 asked_json(c->asked.list), "optional", c->asked.optional, "multiplexed",
			 c->asked.multiplex, "passes", (int)passes, "papi", utf8_json(library),
			 "papi_why", library ? NULL : utf8_json(why), "events", events);
}
