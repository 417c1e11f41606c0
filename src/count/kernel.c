/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel counts for each thread: getrusage(), CPU time, schedstat. */
#include "count/provider.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "machine/usage.h"

static double faults(const struct usage *u)
{
	return (double)u->minor_faults + (double)u->major_faults;
}

static double minor_faults(const struct usage *u)
{
	return (double)u->minor_faults;
}

static double major_faults(const struct usage *u)
{
	return (double)u->major_faults;
}

static double switches(const struct usage *u)
{
	return (double)u->voluntary + (double)u->involuntary;
}

static double voluntary(const struct usage *u)
{
	return (double)u->voluntary;
}

static double involuntary(const struct usage *u)
{
	return (double)u->involuntary;
}

static double cpu_seconds(const struct usage *u)
{
	return u->cpu;
}

static double delay(const struct usage *u)
{
	return u->delay;
}

static const struct kernel_event {
	const char *name, *unit;
	double (*value)(const struct usage *); /* NULL: 1 if the CPU has changed */
} kernel_events[] = {
	{ "faults", "1", faults },
	{ "minor-faults", "1", minor_faults },
	{ "major-faults", "1", major_faults },
	{ "context-switches", "1", switches },
	{ "voluntary-switches", "1", voluntary },
	{ "involuntary-switches", "1", involuntary },
	{ "migrations", "1", NULL },
	{ "cpu-time", "s", cpu_seconds },
	{ "run-delay", "s", delay },
};

struct kernel_set {
	struct usage before;
	unsigned n;
	struct {
		unsigned index;
		const struct kernel_event *event;
	} of[];
};

static bool kernel_find(void *library, struct wanted *w, struct reason *why)
{
	(void)library, (void)why;
	for (unsigned i = 0; i < LENGTH(kernel_events); i++) {
		if (strcmp(kernel_events[i].name, w->event.name))
			continue;
		w->event.unit = kernel_events[i].unit;
		w->event.proven = true;
		w->code = i;
		return true;
	}
	return false;
}

static void *kernel_start(void *library, struct wanted *const *w, unsigned n, int cpu,
			  bool multiplex, const struct wanted **failed, struct reason *why)
{
	struct kernel_set *s = calloc(1, sizeof(*s) + n * sizeof(s->of[0]));

	(void)library, (void)cpu, (void)multiplex;
	*failed = w[0];
	if (!s) {
		reason_set(why, "no memory");
		return NULL;
	}
	usage_read(&s->before); /* the first reading opens a file: keep that out of the samples */
	s->n = n;
	for (unsigned i = 0; i < n; i++) {
		s->of[i].index = w[i]->index;
		s->of[i].event = &kernel_events[w[i]->code];
		if (!s->of[i].event->value || !isnan(s->of[i].event->value(&s->before)))
			continue;
		*failed = w[i];
		if (!reason_too_few_files(usage_error(), why))
			reason_set(why,
				   "this kernel keeps no schedstat: it needs CONFIG_SCHED_INFO");
		free(s);
		return NULL;
	}
	*failed = NULL;
	return s;
}

static void kernel_read(void *set, bool after, double *value)
{
	struct kernel_set *s = set;
	struct usage now;

	if (!after) {
		usage_read(&s->before);
		return;
	}
	usage_read(&now);
	for (unsigned i = 0; i < s->n; i++) {
		const struct kernel_event *e = s->of[i].event;

		value[s->of[i].index] = e->value ? e->value(&now) - e->value(&s->before)
						 : now.on_cpu != s->before.on_cpu;
	}
}

static void kernel_names(void *library, void (*each)(void *, const char *), void *argument)
{
	(void)library;
	for (unsigned i = 0; i < LENGTH(kernel_events); i++)
		each(argument, kernel_events[i].name);
}

const struct provider kernel_provider = { .source = "kernel",
					  .find = kernel_find,
					  .start = kernel_start,
					  .read = kernel_read,
					  .stop = free,
					  .names = kernel_names };
