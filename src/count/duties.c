/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "count/duties.h"
#include "count/package.h"
#include "machine/threads/affinity.h"
#include "machine/threads/team.h"

/* Where the processes of this host run. */
struct host {
	unsigned cpus;
	/*
	 * by CPU: minus the lowest rank on it (-INFINITY: none), since most_host() finds the
	 * largest; at [cpus]: minus the host's lowest rank
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
 * for the host as a whole, worker 0 of the lowest rank does.
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

bool *duties_find(const struct counters *c, const struct place *place, unsigned threads,
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
