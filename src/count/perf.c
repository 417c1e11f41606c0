/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "count/perf.h"
#include "count/perf_names.h"
#include "count/perf_open.h"

/* As read() returns it: a count, and for how many ns the event was enabled and on a counter. */
struct reading {
	uint64_t value, enabled, running;
};

/*
 * Each event is read separately. One call could read a group (PERF_FORMAT_GROUP, as PAPI does),
 * with as many descriptors; but a group gets all of its counters or none, so that one event without
 * a counter would leave all without a value, and multiplexed events can't be grouped.
 */
struct perf_event {
	int file;
	unsigned index;
	double factor;
	struct reading before; /* at the start of the task */
	/* multiplexed: summed over all tasks since it first had a counter */
	struct reading measured;
};

struct perf_set {
	bool multiplex;
	unsigned n;
	struct perf_event of[];
};

/* A failed reading is marked by running > enabled. */
static struct reading reading(int file)
{
	struct reading r;

	return read(file, &r, sizeof(r)) == sizeof(r) ? r
						      : (struct reading){ .running = UINT64_MAX };
}

static bool is_read(const struct reading *r)
{
	return r->running <= r->enabled;
}

static void perf_stop(void *set)
{
	struct perf_set *s = set;

	for (unsigned i = 0; i < s->n; i++)
		close(s->of[i].file);
	free(s);
}

static bool perf_add(struct perf_set *s, const struct wanted *w)
{
	struct perf_event e = { .file = perf_open(w), .index = w->index, .factor = w->factor };

	if (e.file < 0)
		return false;
	s->of[s->n++] = e;
	return true;
}

/* The first event that can't be read, or lacks a counter; n: none. */
static unsigned first_idle(const struct perf_set *s)
{
	for (unsigned i = 0; i < s->n; i++) {
		const struct reading r = reading(s->of[i].file);

		if (!is_read(&r) || (!s->multiplex && r.running < r.enabled))
			return i;
	}
	return s->n;
}

static void *perf_start(void *library, struct wanted *const *w, unsigned n, int cpu, bool multiplex,
			const struct wanted **failed, struct reason *why)
{
	struct perf_set *s = calloc(1, sizeof(*s) + n * sizeof(s->of[0]));
	unsigned idle;

	(void)library, (void)cpu;
	*failed = w[0];
	if (!s) {
		reason_set(why, "no memory");
		return NULL;
	}
	s->multiplex = multiplex;
	while (s->n < n && perf_add(s, w[s->n]))
		;
	if (s->n < n) {
		perf_explain(w[s->n], errno, why);
		*failed = w[s->n];
	} else if ((idle = first_idle(s)) < n) {
		perf_explain_taken(why);
		*failed = w[idle];
	} else {
		*failed = NULL;
		return s;
	}
	perf_stop(s);
	return NULL;
}

/* The count, scaled to the time that the event was enabled. */
static double extrapolated(const struct reading *r)
{
	return r->running ? (double)r->value * ((double)r->enabled / (double)r->running) : 0;
}

/*
 * The count of a task; NAN: unknown. Multiplexed: the change of the estimate for all tasks. Since
 * tasks are shorter than turns, only the sum over tasks is meaningful, and one task's count may be
 * negative. It is unknown before the event's first turn.
 */
static double counted(struct perf_event *e, const struct reading *now, bool multiplex)
{
	const struct reading task = { now->value - e->before.value,
				      now->enabled - e->before.enabled,
				      now->running - e->before.running };
	const double known = extrapolated(&e->measured);

	if (!is_read(&e->before) || !is_read(now))
		return NAN;
	if (!multiplex)
		return task.running == task.enabled ? (double)task.value : NAN;
	if (!e->measured.running && !task.running)
		return NAN;
	e->measured.value += task.value;
	e->measured.enabled += task.enabled;
	e->measured.running += task.running;
	return extrapolated(&e->measured) - known;
}

static void perf_read(void *set, bool after, double *value)
{
	struct perf_set *s = set;

	for (unsigned i = 0; i < s->n; i++) {
		struct perf_event *e = &s->of[i];
		const struct reading now = reading(e->file);

		if (after)
			value[e->index] = counted(e, &now, s->multiplex) * e->factor;
		else
			e->before = now;
	}
}

const struct provider perf_software = { .source = "perf",
					.find = perf_software_find,
					.start = perf_start,
					.read = perf_read,
					.stop = perf_stop,
					.names = perf_names };
const struct provider perf_hardware = { .source = "perf",
					.find = perf_hardware_find,
					.start = perf_start,
					.read = perf_read,
					.stop = perf_stop };
