/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "machine/counters.h"
#include "machine/opaque.h"
#include "machine/provider.h"
#include "machine/sysfs.h"
#include "machine/team.h"
#include "machine/usage.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* ---- the kernel's own ---- */

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
	double (*value)(const struct usage *); /* NULL: whether it is another CPU than before */
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

static bool kernel_find(struct wanted *w, char why[WHY])
{
	struct usage now;

	for (unsigned i = 0; i < LENGTH(kernel_events); i++) {
		if (strcmp(kernel_events[i].name, w->event.name))
			continue;
		usage_read(&now);
		if (kernel_events[i].value && isnan(kernel_events[i].value(&now))) {
			snprintf(why, WHY, "this kernel keeps no schedstat: it takes one with CONFIG_SCHED_INFO");
			return false;
		}
		w->event.unit = kernel_events[i].unit;
		w->event.proven = true;
		w->code = i;
		return true;
	}
	return false;
}

static void *kernel_start(struct wanted *const *w, unsigned n, int cpu, bool multiplex, const struct wanted **failed, char why[WHY])
{
	struct kernel_set *s = calloc(1, sizeof(*s) + n * sizeof(s->of[0]));

	(void)cpu, (void)multiplex;
	if (!s) {
		*failed = w[0];
		snprintf(why, WHY, "no memory");
		return NULL;
	}
	s->n = n;
	for (unsigned i = 0; i < n; i++) {
		s->of[i].index = w[i]->index;
		s->of[i].event = &kernel_events[w[i]->code];
	}
	usage_read(&s->before); /* so that no sample pays for what a first reading opens */
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

		value[s->of[i].index] = e->value ? e->value(&now) - e->value(&s->before) : now.on_cpu != s->before.on_cpu;
	}
}

static const struct provider kernel = { "kernel", kernel_find, kernel_start, kernel_read, free };

/* ---- all that count, in the order in which they are asked ---- */

static const struct provider *const providers[] = { &kernel };
enum { PROVIDERS = LENGTH(providers) };

/* What a worker counts in this pass. */
struct station {
	_Alignas(APART) void *set[PROVIDERS]; /* NULL: nothing of this provider */
	double *value;                        /* by event; NAN where it is not counted */
	const struct wanted *failed;
	int error;
	char why[WHY];
};

struct counters {
	unsigned n, passes;
	struct wanted *wanted;
	bool multiplex;
	unsigned stations;                    /* workers that count */
	struct station *station;
	/* While they are started */
	struct team *team;
	unsigned pass;
};

static void set_why(struct wanted *w, const char *why)
{
	if (w->event.why)
		return;
	w->event.why = strdup(why);
	w->event.source = NULL;
	w->provider = NULL;
}

static void find(struct counters *c, struct wanted *w)
{
	char why[WHY] = "";

	(void)c;
	for (unsigned i = 0; i < PROVIDERS && !w->provider; i++)
		if (providers[i]->find(w, why))
			w->provider = providers[i];
	if (w->provider)
		w->event.source = w->provider->source;
	else
		set_why(w, *why ? why : "no such event here");
}

static unsigned chosen(const struct counters *c, const struct provider *p, unsigned pass, struct wanted **list)
{
	unsigned n = 0;

	for (unsigned i = 0; i < c->n; i++)
		if (c->wanted[i].provider == p && c->wanted[i].event.pass == pass)
			list[n++] = &c->wanted[i];
	return n;
}

struct counters *counters_open(const char *const *names, unsigned n, bool multiplex)
{
	struct counters *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->multiplex = multiplex;
	c->wanted = calloc(n + 1, sizeof(*c->wanted));
	if (!c->wanted)
		goto fail;
	c->n = n;
	for (unsigned i = 0; i < n; i++) {
		struct wanted *w = &c->wanted[i];

		w->index = i;
		w->event = (struct event){ .name = strdup(names[i]), .unit = "1" };
		if (!w->event.name)
			goto fail;
		find(c, w);
		if (!w->provider && !w->event.why)
			goto fail;
		if (w->provider && w->event.pass >= c->passes)
			c->passes = w->event.pass + 1;
	}
	return c;
fail:
	counters_close(c);
	errno = ENOMEM;
	return NULL;
}

static void stations_free(struct counters *c)
{
	for (unsigned i = 0; i < c->stations; i++)
		free(c->station[i].value);
	free(c->station);
	c->station = NULL;
	c->stations = 0;
}

void counters_close(struct counters *c)
{
	if (!c)
		return;
	stations_free(c);
	for (unsigned i = 0; i < c->n; i++) {
		free((char *)c->wanted[i].event.name);
		free(c->wanted[i].event.why);
	}
	free(c->wanted);
	free(c);
}

unsigned counters_events(const struct counters *c)
{
	return c->n;
}

const struct event *counters_event(const struct counters *c, unsigned event)
{
	return &c->wanted[event].event;
}

unsigned counters_passes(const struct counters *c)
{
	return c->passes;
}

const char *counters_library(const struct counters *c, const char **why)
{
	(void)c;
	if (why)
		*why = "built without PAPI";
	return NULL;
}

static void read_station(void *argument, struct worker *w, bool after)
{
	const struct counters *c = argument;
	struct station *s = &c->station[w->index];

	/* What costs least stands next to the task: the kernel's own is asked first before it, and last after it. */
	for (unsigned i = 0; i < PROVIDERS; i++) {
		unsigned p = after ? PROVIDERS - 1 - i : i;

		if (s->set[p])
			providers[p]->read(s->set[p], after, s->value);
	}
}

static void start_station(void *argument, struct worker *w)
{
	struct counters *c = argument;
	struct station *s = &c->station[w->index];
	struct wanted **list = calloc(c->n + 1, sizeof(struct wanted *));

	for (unsigned p = 0; list && p < PROVIDERS && !s->failed; p++) {
		unsigned n = chosen(c, providers[p], c->pass, list);

		if (n)
			s->set[p] = providers[p]->start(list, n, w->place.cpu, c->multiplex, &s->failed, s->why);
	}
	if (!list || s->failed)
		s->error = list ? EBUSY : ENOMEM;
	free(list);
}

static void stop_station(void *argument, struct worker *w)
{
	struct counters *c = argument;
	struct station *s = &c->station[w->index];

	for (unsigned p = 0; p < PROVIDERS; p++) {
		if (s->set[p])
			providers[p]->stop(s->set[p]);
		s->set[p] = NULL;
	}
}

static bool stations_new(struct counters *c, unsigned n)
{
	stations_free(c);
	c->station = aligned_alloc(APART, n * sizeof(*c->station));
	if (!c->station)
		return false;
	memset(c->station, 0, n * sizeof(*c->station));
	c->stations = n;
	for (unsigned i = 0; i < n; i++) {
		/* Lines of its own, since workers write them at the same time. */
		c->station[i].value = aligned_alloc(APART, (c->n * sizeof(double) / APART + 1) * APART);
		if (!c->station[i].value)
			return false;
		for (unsigned e = 0; e < c->n; e++)
			c->station[i].value[e] = NAN;
	}
	return true;
}

bool counters_start(struct counters *c, struct team *team, unsigned pass)
{
	int error = 0;

	if (!stations_new(c, team_threads(team))) {
		errno = ENOMEM;
		return false;
	}
	c->team = team;
	c->pass = pass;
	team_run(team, start_station, c);
	for (unsigned i = 0; i < c->stations; i++) {
		const struct station *s = &c->station[i];

		if (!s->error)
			continue;
		error = s->error;
		if (s->failed)
			set_why(&c->wanted[s->failed->index], s->why);
	}
	if (!error) {
		team_watch(team, read_station, c);
		return true;
	}
	counters_stop(c, team);
	errno = error;
	return false;
}

void counters_stop(struct counters *c, struct team *team)
{
	team_watch(team, NULL, NULL);
	team_run(team, stop_station, c);
}

double counters_value(const struct counters *c, unsigned worker, unsigned event)
{
	return worker < c->stations && event < c->n ? c->station[worker].value[event] : NAN;
}
