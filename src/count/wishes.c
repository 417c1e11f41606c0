/* SPDX-License-Identifier: Apache-2.0 */
#include "count/counting.h"

#include <stdlib.h>
#include <string.h>

#include "benchmark.h"
#include "count/event.h"

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

bool wishes_read(struct wishes *w, const char *list, const struct benchmark *const *benchmarks,
		 unsigned n)
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

void wishes_free(struct wishes *w)
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

bool wishes_collect(struct wishes *w, struct candidates *c)
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

bool wishes_choose(struct wishes *w, struct candidates *c)
{
	for (unsigned i = 0; i < w->n; i++)
		choose(&w->wish[i], c);
	return keep(w, c);
}

void candidates_free(struct candidates *c)
{
	for (unsigned i = 0; i < c->n; i++) {
		free(c->of[i].name);
		free(c->of[i].why);
	}
	free(c->of);
}

bool wishes_mean(const struct wishes *w, unsigned event, const struct benchmark *b)
{
	for (unsigned i = 0; i < w->n; i++)
		if (w->wish[i].event == event &&
		    (!w->wish[i].benchmark || w->wish[i].benchmark == b))
			return true;
	return false;
}
