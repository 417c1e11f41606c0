/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What LIKWID's source requires of its callers (5.2 to 5.5: libperfctr.c, hashTable.c,
 * perfmon_perfevent.h, pthread-overload.c):
 *
 * - With perf_event, likwid_markerInit() opens its counters for the main thread, and threads
 *   created later inherit them; existing threads always read zero. So it is called before any
 *   parallel region (5.2; 5.5 counts whatever runs on a CPU).
 * - Counts are kept by CPU up to 5.4. Since 5.5 they are kept by thread, in the column of the CPU
 *   where LIKWID first saw the thread, with one column for each thread seen. So one thread on each
 *   CPU of LIKWID_THREADS, which never moves, makes all calls.
 * - likwid_markerInit() and likwid_markerThreadInit() pin the calling thread, in order of arrival:
 *   its CPUs are restored here.
 * - Up to 5.4 each CPU numbers its regions in order of appearance, but the file is written as if
 *   the numbers were the same on all: CPUs with different regions, or another order, overwrite each
 *   other's names. So all regions are registered on all CPUs, in one order, before any is entered.
 * - Up to 5.4 a region's group is uninitialised until the region was left once, and the file is
 *   written with the first CPU's groups. So each CPU first enters, leaves and resets each region.
 * - A CPU outside LIKWID_THREADS must not enter a region: its column would be beyond the table.
 * - Two workers on one CPU would share its entry: such trials have no region
 *   (harness/run/regions.c).
 * - In the file a region is "number:name-group": 99 characters at most, split at the last "-";
 *   likwid-mpirun ends names at blanks, and CSV at commas.
 */
#include <ctype.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "count/likwid.h"
#include "count/markers.h"
#include "machine/clock.h"
#include "machine/threads/team.h"

enum { LONGEST_NAME = 80 };

struct entered {
	char *name;
	uint64_t calls;
	double seconds, began;	/* s inside; clock_now() */
	enum likwid_seen *seen; /* by index of the CPU: the best of any group so far */
};

struct markers {
	struct likwid likwid;
	struct perfctr perfctr;
	unsigned active; /* group */
	struct entered *region;
	unsigned regions;
	struct cputhreads *threads; /* one for each of LIKWID's CPUs */
	bool *wanted;		    /* by thread: a worker sits on its CPU */
	bool ready;		    /* regions can be entered */
	/* the library's error code when it refused a region; 0: none */
	_Atomic int refused;
};

static void free_markers(struct markers *m)
{
	if (!m)
		return;
	cputhreads_close(m->threads);
	for (unsigned i = 0; i < m->regions; i++) {
		free(m->region[i].name);
		free(m->region[i].seen);
	}
	free(m->region);
	free(m->wanted);
	perfctr_free(&m->perfctr);
	likwid_forget(&m->likwid);
	free(m);
}

/* NULL: ENOMEM, and the library is unloaded. */
static struct markers *make(struct likwid *likwid)
{
	struct markers *m = calloc(1, sizeof(*m));

	if (m && perfctr_read(&m->perfctr, !likwid_keeps_groups(likwid)) &&
	    (m->wanted = calloc(m->perfctr.listed + 1, sizeof(*m->wanted)))) {
		m->likwid = *likwid;
		return m;
	}
	free_markers(m);
	likwid_unload(likwid);
	return NULL;
}

struct markers *markers_open(char **why)
{
	struct likwid likwid;
	const char *missing;
	struct markers *m;

	*why = NULL;
	if (!perfctr_asked())
		return NULL;
	if ((missing = perfctr_missing())) {
		*why = text_of("LIKWID_MODE is set, but not %s: run it under likwid-perfctr -m, or "
			       "unset LIKWID_MODE",
			       missing);
		return NULL;
	}
	if (!likwid_load(&likwid, why))
		return NULL;
	m = make(&likwid);
	if (m)
		likwid_init(&m->likwid);
	else
		*why = strdup(strerror(ENOMEM));
	return m;
}

static bool name_regions(struct markers *m, const char *const *regions, unsigned n)
{
	m->region = calloc(n + 1, sizeof(*m->region));
	while (m->region && m->regions < n) {
		struct entered *e = &m->region[m->regions];

		e->name = strndup(regions[m->regions++], LONGEST_NAME);
		e->seen = calloc(m->perfctr.listed + 1, sizeof(*e->seen));
		if (!e->name || !e->seen)
			return false;
		for (char *p = e->name; *p; p++)
			if (!isascii(*p) || !isalnum(*p))
				*p = '_';
	}
	return m->region;
}

static void init_thread(void *argument, unsigned thread)
{
	const struct markers *m = argument;

	(void)thread;
	likwid_init_thread(&m->likwid);
}

static void register_all(void *argument, unsigned thread)
{
	struct markers *m = argument;

	(void)thread;
	for (unsigned i = 0; i < m->regions; i++) {
		int answer = m->likwid.register_region(m->region[i].name);

		if (answer < 0)
			m->refused = answer;
	}
}

static void prime_all(void *argument, unsigned thread)
{
	struct markers *m = argument;

	for (unsigned i = 0; i < m->regions; i++) {
		enum likwid_seen *seen = &m->region[i].seen[thread], now;

		m->likwid.start(m->region[i].name);
		m->likwid.stop(m->region[i].name);
		now = likwid_see(&m->likwid, m->region[i].name);
		*seen = now > *seen ? now : *seen;
		m->likwid.reset(m->region[i].name);
	}
}

static void next_group(struct markers *m)
{
	m->active = (m->active + 1) % m->perfctr.groups;
	m->likwid.next_group();
}

static void visit_all(struct markers *m, void (*visit)(void *, unsigned))
{
	for (unsigned g = 0; g < m->perfctr.groups && !m->refused; g++) {
		cputhreads_run(m->threads, NULL, visit, m);
		if (m->perfctr.groups > 1)
			next_group(m);
	}
}

/* Whether any event of any group can be read. Resets `seen`. */
static bool readable(struct markers *m)
{
	bool any = false;

	for (unsigned i = 0; i < m->regions; i++)
		for (unsigned j = 0; j < m->perfctr.listed; j++) {
			any |= m->region[i].seen[j] > LIKWID_UNREAD;
			m->region[i].seen[j] = LIKWID_NOT_ENTERED;
		}
	return any;
}

/* Why cputhreads_open() failed. */
static char *no_threads(const struct markers *m, int culprit, int error)
{
	if (culprit < 0)
		return text_of("can't create a thread on each of LIKWID's CPUs (%s): see ulimit -u",
			       strerror(error));
	return text_of("LIKWID counts on CPUs %s, but this process may not use CPU %d (%s): choose "
		       "others with likwid-perfctr -C or -c",
		       m->perfctr.cpus, culprit, strerror(error));
}

bool markers_register(struct markers *m, const char *const *regions, unsigned n, char **why)
{
	int culprit;

	*why = NULL;
	if (!name_regions(m, regions, n)) {
		*why = strdup(strerror(ENOMEM));
		return false;
	}
	m->threads = cputhreads_open(m->perfctr.cpu, m->perfctr.listed, &culprit);
	if (!m->threads) {
		*why = no_threads(m, culprit, errno);
		return false;
	}
	cputhreads_run(m->threads, NULL, init_thread, m);
	visit_all(m, register_all);
	visit_all(m, prime_all);
	if (m->refused)
		*why = text_of(
			"%s could not begin to count (see its message on stderr): try "
			"likwid-perfctr without locus, and check the rights of its access daemon",
			m->likwid.file);
	else if (!readable(m))
		*why = text_of(
			"no event of LIKWID_EVENTS (%s) can be read: likwid-perfctr -e lists "
			"events and counters of this processor",
			getenv("LIKWID_EVENTS"));
	return m->ready = !*why;
}

void markers_close(struct markers *m)
{
	if (m && m->ready)
		m->likwid.close();
	else if (m)
		m->likwid.finalize(); /* close() would warn that there are no regions */
	free_markers(m);
}

struct passage {
	struct markers *markers;
	unsigned region;
};

static void start(void *argument, unsigned thread)
{
	const struct passage *p = argument;

	(void)thread;
	p->markers->likwid.start(p->markers->region[p->region].name);
}

static void stop(void *argument, unsigned thread)
{
	const struct passage *p = argument;
	struct entered *e = &p->markers->region[p->region];
	enum likwid_seen now;

	p->markers->likwid.stop(e->name);
	now = likwid_see(&p->markers->likwid, e->name);
	e->seen[thread] = now > e->seen[thread] ? now : e->seen[thread];
}

/* Runs `go` on each of LIKWID's CPUs where a worker sits. */
static void pass(struct markers *m, struct team *team, unsigned region,
		 void (*go)(void *, unsigned))
{
	for (unsigned j = 0; j < m->perfctr.listed; j++) {
		m->wanted[j] = false;
		for (unsigned i = 0; i < team_threads(team); i++)
			m->wanted[j] |= m->perfctr.cpu[j] == team_worker(team, i)->place.cpu;
	}
	cputhreads_run(m->threads, m->wanted, go, &(struct passage){ m, region });
}

void markers_begin(struct markers *m, struct team *team, unsigned region)
{
	struct entered *e = &m->region[region];

	while (m->active != e->calls % m->perfctr.groups)
		next_group(m);
	pass(m, team, region, start);
	e->began = clock_now();
}

void markers_end(struct markers *m, struct team *team, unsigned region)
{
	struct entered *e = &m->region[region];

	e->seconds += clock_now() - e->began;
	e->calls++;
	pass(m, team, region, stop);
}

bool markers_counted(const struct markers *m, unsigned region, int cpu)
{
	for (unsigned i = 0; i < m->perfctr.listed && m->perfctr.core; i++)
		if (m->perfctr.cpu[i] == cpu)
			return m->region[region].seen[i] == LIKWID_NOT_ENTERED ||
			       m->region[region].seen[i] == LIKWID_COUNTED;
	return true;
}

const char *markers_name(const struct markers *m, unsigned region)
{
	return m->region[region].name;
}

unsigned markers_regions(const struct markers *m)
{
	return m->regions;
}

uint64_t markers_calls(const struct markers *m, unsigned region)
{
	return m->region[region].calls;
}

double markers_seconds(const struct markers *m, unsigned region)
{
	return m->region[region].seconds;
}

bool markers_cover(const struct markers *m, int cpu)
{
	return cpu >= 0 && hwloc_bitmap_isset(m->perfctr.on, (unsigned)cpu);
}

const char *markers_cpus(const struct markers *m)
{
	return m->perfctr.cpus;
}

const char *markers_library(const struct markers *m)
{
	return m->likwid.file;
}

const char *markers_mode(const struct markers *m)
{
	return m->perfctr.mode;
}

unsigned markers_groups(const struct markers *m)
{
	return m->perfctr.groups;
}

const char *markers_group(const struct markers *m, unsigned group)
{
	return m->perfctr.group[group];
}
