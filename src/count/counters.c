/* SPDX-License-Identifier: Apache-2.0 */
#include "count/counters.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "count/event.h"
#include "count/schedule.h"
#include "machine/threads/affinity.h"
#include "machine/threads/team.h"

struct counters {
	struct schedule schedule;
	/* by worker: for the largest team so far, or fewer if memory ran out */
	unsigned stations;
	struct station *station;
	struct pass pass; /* the pass that runs, or the last one */
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
						      : "no requested event needs PAPI";

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

/* --- duties --- */

/* Where the processes of this host run. */
struct host {
	unsigned cpus;
	/*
	 * by CPU: the lowest rank on it; at [cpus]: the host's lowest rank. Both are negated, since
	 * most_host() finds the largest value. -INFINITY: no rank
	 */
	double *first;
	int *package; /* by CPU, where a worker sits */
};
enum { NOBODY = -1 };

static void look_around(struct host *n, const struct place *place, unsigned threads, unsigned rank,
			void (*most_host)(double *, size_t))
{
	for (unsigned i = 0; i <= n->cpus; i++)
		n->first[i] = -INFINITY;
	n->first[n->cpus] = -(double)rank;
	for (unsigned i = 0; i < threads; i++)
		n->first[place[i].cpu] = -(double)rank;
	if (most_host)
		most_host(n->first, n->cpus + 1);
	for (unsigned cpu = 0; cpu < n->cpus; cpu++)
		if (isfinite(n->first[cpu]))
			n->package[cpu] = package_of((int)cpu);
}

/*
 * Which worker of this process counts for a package, or NOBODY. For a package without workers, and
 * for the host as a whole, worker 0 of the lowest rank counts.
 */
static int who_counts(const struct host *n, int package, const struct place *place,
		      unsigned threads, unsigned rank)
{
	double lowest = INFINITY;

	for (unsigned cpu = 0; cpu < n->cpus && package != PACKAGE_NODE; cpu++)
		if (isfinite(n->first[cpu]) && n->package[cpu] == package)
			lowest = fmin(lowest, -n->first[cpu]);
	if (!isfinite(lowest))
		return -n->first[n->cpus] == rank ? 0 : NOBODY;
	for (unsigned i = 0; i < threads && lowest == rank; i++)
		if (n->package[place[i].cpu] == package)
			return (int)i;
	return NOBODY;
}

bool *counters_duties(const struct counters *c, const struct place *place, unsigned threads,
		      unsigned rank, void (*most_host)(double *, size_t))
{
	const unsigned events = counters_events(c), cpus = cpuset_room();
	bool *duty = calloc((size_t)events * threads + 1, sizeof(*duty));
	double first[cpus + 1];
	int package_of_cpu[cpus];
	struct host host = { cpus, first, package_of_cpu };

	look_around(&host, place, threads, rank, most_host);
	for (unsigned i = 0; duty && i < events; i++) {
		const struct event *e = counters_event(c, i);

		for (unsigned j = 0; j < threads; j++) {
			const int package = e->package == PACKAGE_EACH ? host.package[place[j].cpu]
								       : e->package;

			duty[(size_t)i * threads + j] =
				e->scope == SCOPE_THREAD ||
				who_counts(&host, package, place, threads, rank) == (int)j;
		}
	}
	return duty;
}
