/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "count/counters.h"
#include "count/schedule.h"
#include "machine/threads/team.h"

struct counters {
	struct schedule schedule;
	/* by worker: for the largest team so far, or fewer where memory ran out */
	unsigned stations;
	struct station *station;
	struct pass pass; /* running, or the last one */
};

struct counters *counters_open(const char *const *names, unsigned n, bool multiplex)
{
	struct counters *c = calloc(1, sizeof(*c));

	if (!c || schedule_open(&c->schedule, names, n, multiplex))
		return c;
	counters_close(c);
	errno = ENOMEM;
	return NULL;
}

void counters_close(struct counters *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < c->stations; i++)
		station_free(&c->station[i], c->schedule.n);
	free(c->station);
	schedule_close(&c->schedule);
	free(c);
}

unsigned counters_events(const struct counters *c)
{
	return c->schedule.n;
}

const struct event *counters_event(const struct counters *c, unsigned event)
{
	return &c->schedule.wanted[event].event;
}

unsigned counters_passes(const struct counters *c)
{
	return c->schedule.passes;
}

const char *counters_library(const struct counters *c, const char **why)
{
	const struct providers *p = &c->schedule.providers;
	void *library = p->of[PROVIDER_PAPI].library;
	const char *said = p->of[PROVIDER_PAPI].asked ? p->of[PROVIDER_PAPI].why.what
						      : "no event asked for needs PAPI";

	if (why)
		*why = library ? NULL : said;
	return library ? provider_table[PROVIDER_PAPI]->version(library) : NULL;
}

/* On ENOMEM the last workers have no station. */
static void make_stations(struct counters *c, unsigned workers)
{
	struct station *grown;

	if (workers <= c->stations || !(grown = apart_alloc(workers * sizeof(*grown))))
		return;
	if (c->stations)
		memcpy(grown, c->station, c->stations * sizeof(*grown));
	free(c->station);
	c->station = grown;
	while (c->stations < workers && station_make(&grown[c->stations], c->schedule.n))
		c->stations++;
}

static void start_station(void *argument, struct worker *w)
{
	struct counters *c = argument;

	if (w->index < c->stations)
		station_start(&c->station[w->index], &c->pass, w->index, w->place.cpu);
}

static void read_station(void *argument, struct worker *w, bool after)
{
	struct counters *c = argument;

	if (w->index < c->stations)
		station_read(&c->station[w->index], after);
}

static void stop_station(void *argument, struct worker *w)
{
	struct counters *c = argument;

	if (w->index < c->stations)
		station_stop(&c->station[w->index], c->schedule.n);
}

void counters_start(struct counters *c, struct team *team, unsigned pass, const bool *duty)
{
	c->pass = schedule_pass(&c->schedule, pass);
	c->pass.threads = team_threads(team);
	c->pass.duty = duty;
	make_stations(c, c->pass.threads);
	team_run(team, start_station, c);
	c->pass.duty = NULL;
	team_watch(team, read_station, c);
}

void counters_stop(struct counters *c, struct team *team)
{
	team_watch(team, NULL, NULL);
	team_run(team, stop_station, c);
}

const char *counters_failure(const struct counters *c, unsigned event)
{
	for (unsigned i = 0; i < c->pass.threads; i++)
		if (i >= c->stations || c->station[i].why[event])
			return i >= c->stations ? "no memory" : c->station[i].why[event];
	return NULL;
}

double counters_value(const struct counters *c, unsigned worker, unsigned event)
{
	return worker < c->pass.threads && worker < c->stations && event < c->schedule.n
		       ? c->station[worker].value[event]
		       : NAN;
}
