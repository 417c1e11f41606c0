/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What LIKWID's source (5.2 to 5.4: libperfctr.c, hashTable.c, perfmon.c) asks of whom uses it:
 *
 * - likwid_markerInit() and likwid_markerThreadInit() pin the calling thread, each new thread to the next of LIKWID_THREADS in the order in which they happen
 *   to come. Whoever was pinned before is put back here.
 * - A region has a number on each CPU, in the order in which it came there, and the file is written as if it were the same on all: two CPUs that saw
 *   other regions, or the same in another order, overwrite each other's names. So each CPU gets all regions, in one order, before any is entered.
 * - What group a region belongs to is unset memory until it was left once, and the file is written by what the first CPU says of it. So each region is
 *   entered and left on each CPU, and reset, before it is used.
 * - A CPU outside LIKWID_THREADS must not see a region: it would be a column in the file that no table has.
 * - Two threads on one CPU share its entry: trials with more threads than CPUs have no region (see harness/run.c).
 * - In the file a region is "number:name-group", read back up to the last "-" in 99 letters; likwid-mpirun ends names at blanks, and CSV at commas.
 */
#include "config.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/clock.h"
#include "machine/markers.h"

enum { LONGEST_NAME = 80 };

struct library {
	void (*init)(void), (*thread_init)(void), (*next_group)(void), (*close)(void);
	int (*register_region)(const char *), (*start)(const char *), (*stop)(const char *), (*reset)(const char *);
};

struct entered {
	char *name;
	uint64_t calls;
	double seconds, began;             /* s inside; clock_now() */
};

struct markers {
	struct library library;
	char *file, *cpus, *mode;
	char *groups_text, **group;
	unsigned groups, active;
	struct entered *region;
	unsigned regions;
	cpu_set_t covered;
	int *cpu, listed;                  /* LIKWID_THREADS */
	_Atomic int refused;               /* what the library answered where it refused a region; 0: it did not */
};

static char *say(const char *format, const char *word) __attribute__((format(printf, 1, 0)));
static char *say(const char *format, const char *word)
{
	char *text;

	return asprintf(&text, format, word) < 0 ? NULL : text;
}

/* Why this build has no regions; NULL: it has. */
static char *left_out(void)
{
#ifdef LOCUS_WITHOUT_LIKWID
	return say("this locus was built %s: configure it without that", "--without-likwid");
#else
	return NULL;
#endif
}

/* Under likwid-perfctr -C the library for pinning is loaded: the one beside it is of the same LIKWID. */
static char *beside_preloaded(void)
{
	static const char theirs[] = "likwidpin", ours[] = "likwid";
	const char *preload = getenv("LD_PRELOAD"), *found = preload ? strstr(preload, theirs) : NULL, *begin = found, *end = found;
	char *path = NULL;

	if (!found)
		return NULL;
	while (begin > preload && begin[-1] != ':' && begin[-1] != ' ')
		begin--;
	while (*end && *end != ':' && *end != ' ')
		end++;
	found += sizeof(theirs) - 1;
	if (asprintf(&path, "%.*s%s%.*s", (int)(found - (sizeof(theirs) - 1) - begin), begin, ours, (int)(end - found), found) < 0)
		return NULL;
	return path;
}

static void *load(char **why)
{
	static const char *const names[] = { "liblikwid.so", "liblikwid.so.5.5", "liblikwid.so.5.4", "liblikwid.so.5.3",
					     "liblikwid.so.5.2", "liblikwid.so.5.1", "liblikwid.so.5.0" };
	char *beside = beside_preloaded();
	void *handle = beside ? dlopen(beside, RTLD_NOW | RTLD_LOCAL) : NULL;

	free(beside);
	for (size_t i = 0; !handle && i < sizeof(names) / sizeof(*names); i++)
		handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		const char *error = dlerror();

		*why = say("LIKWID's library could not be loaded (%s): put the folder of its liblikwid.so into LD_LIBRARY_PATH", error ? error : "no reason given");
	}
	return handle;
}

/* NULL, or the first function that is missing. */
static const char *find(void *handle, struct library *l)
{
	const struct {
		const char *name;
		void *where;
	} wanted[] = {
		{ "likwid_markerInit", &l->init },	   { "likwid_markerThreadInit", &l->thread_init },
		{ "likwid_markerNextGroup", &l->next_group }, { "likwid_markerClose", &l->close },
		{ "likwid_markerRegisterRegion", &l->register_region }, { "likwid_markerStartRegion", &l->start },
		{ "likwid_markerStopRegion", &l->stop },   { "likwid_markerResetRegion", &l->reset },
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		void *symbol = dlsym(handle, wanted[i].name);

		if (!symbol)
			return wanted[i].name;
		memcpy(wanted[i].where, &symbol, sizeof(symbol));
	}
	return NULL;
}

/* The file's name without its folder: links are resolved, so that it has the version. */
static char *file_of(void *handle)
{
	struct link_map *map = NULL;
	char *path, *name, *slash;

	if (dlinfo(handle, RTLD_DI_LINKMAP, &map) || !map)
		return strdup("liblikwid.so");
	path = realpath(map->l_name, NULL);
	slash = strrchr(path ? path : map->l_name, '/');
	name = strdup(slash ? slash + 1 : path ? path : map->l_name);
	free(path);
	return name;
}

/* Since 5.5 what a region counts is no longer kept apart by group: there the first group counts alone. */
static bool keeps_groups(const char *file)
{
	unsigned major = 5, minor = 0;
	const char *version = strstr(file, ".so.");

	return !version || sscanf(version, ".so.%u.%u", &major, &minor) != 2 || major < 5 || (major == 5 && minor < 5);
}

static char *word_of_mode(const char *mode)
{
	return strdup(!strcmp(mode, "-1") ? "perf_event" : !strcmp(mode, "0") ? "direct" : !strcmp(mode, "1") ? "accessdaemon" : mode);
}

static bool split_groups(struct markers *m, const char *events)
{
	char *rest;
	unsigned n = 1;

	for (const char *p = events; *p; p++)
		n += *p == '|';
	m->groups_text = rest = strdup(events);
	m->group = calloc(n, sizeof(*m->group));
	if (!rest || !m->group)
		return false;
	while (m->groups < n)
		m->group[m->groups++] = strsep(&rest, "|");
	if (!keeps_groups(m->file))
		m->groups = 1;
	return true;
}

static bool list_cpus(struct markers *m, const char *threads)
{
	const char *p = threads;
	int room = 1;

	m->cpus = strdup(threads);
	for (const char *q = p; *q; q++)
		room += *q == ',';
	m->cpu = calloc((size_t)room, sizeof(*m->cpu));
	if (!m->cpus || !m->cpu)
		return false;
	while (m->listed < room) {
		char *end;
		long cpu = strtol(p, &end, 10);

		if (end == p || cpu < 0 || cpu >= CPU_SETSIZE)
			break;
		CPU_SET((size_t)cpu, &m->covered);
		m->cpu[m->listed++] = (int)cpu;
		if (*end == '.') /* Lua may write 1.0 */
			end += strspn(end, ".0");
		if (*end != ',')
			break;
		p = end + 1;
	}
	return true;
}

static bool name_regions(struct markers *m, const char *const *regions, unsigned n)
{
	m->region = calloc(n + 1, sizeof(*m->region));
	for (; m->region && m->regions < n; m->regions++) {
		char *name = strndup(regions[m->regions], LONGEST_NAME);

		if (!name)
			return false;
		for (char *p = name; *p; p++)
			if (!isascii(*p) || !isalnum(*p))
				*p = '_';
		m->region[m->regions].name = name;
	}
	return m->region;
}

static void free_markers(struct markers *m)
{
	if (!m)
		return;
	for (unsigned i = 0; i < m->regions; i++)
		free(m->region[i].name);
	free(m->region);
	free(m->cpu);
	free(m->group);
	free(m->groups_text);
	free(m->file);
	free(m->cpus);
	free(m->mode);
	free(m);
}

/* The thread is put back, whatever LIKWID did with it. */
static void init_thread(void *argument, struct worker *w)
{
	const struct markers *m = argument;
	cpu_set_t before;
	bool known = !sched_getaffinity(0, sizeof(before), &before);

	(void)w;
	m->library.thread_init();
	if (known)
		sched_setaffinity(0, sizeof(before), &before);
}

static void register_all(struct markers *m)
{
	for (unsigned i = 0; i < m->regions; i++) {
		int answer = m->library.register_region(m->region[i].name);

		if (answer < 0)
			m->refused = answer;
	}
}

static void prime_all(struct markers *m)
{
	for (unsigned i = 0; i < m->regions; i++) {
		m->library.start(m->region[i].name);
		m->library.stop(m->region[i].name);
		m->library.reset(m->region[i].name);
	}
}

struct tour {
	struct markers *markers;
	void (*visit)(struct markers *);
	_Atomic int next;
};

/* The team shares LIKWID's CPUs; where one may not go, no trial can be. (Nobody has a seat yet, nor a number.) */
static void tour(void *argument, struct worker *w)
{
	struct tour *t = argument;
	const struct markers *m = t->markers;
	cpu_set_t before, here;

	(void)w;
	if (sched_getaffinity(0, sizeof(before), &before))
		return;
	for (int i = atomic_fetch_add(&t->next, 1); i < m->listed; i = atomic_fetch_add(&t->next, 1)) {
		CPU_ZERO(&here);
		CPU_SET((size_t)m->cpu[i], &here);
		if (!sched_setaffinity(0, sizeof(here), &here))
			t->visit(t->markers);
	}
	sched_setaffinity(0, sizeof(before), &before);
}

static void next_group(struct markers *m)
{
	m->active = (m->active + 1) % m->groups;
	m->library.next_group();
}

static void visit_all(struct markers *m, struct team *team, void (*visit)(struct markers *))
{
	for (unsigned g = 0; g < m->groups && !m->refused; g++) {
		team_run(team, tour, &(struct tour){ .markers = m, .visit = visit });
		if (m->groups > 1)
			next_group(m);
	}
}

/* False where the library refused: it then said why on stderr. */
static bool begin_all(struct markers *m, struct team *team)
{
	cpu_set_t before;
	bool known = !sched_getaffinity(0, sizeof(before), &before);

	m->library.init();
	if (known)
		sched_setaffinity(0, sizeof(before), &before);
	team_run(team, init_thread, m);
	visit_all(m, team, register_all);
	visit_all(m, team, prime_all);
	return !m->refused;
}

/* NULL, or the first variable that likwid-perfctr -m sets and that is missing. */
static const char *missing_variable(void)
{
	static const char *const names[] = { "LIKWID_FILEPATH", "LIKWID_EVENTS", "LIKWID_THREADS" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!getenv(names[i]))
			return names[i];
	return NULL;
}

static struct markers *make(void *handle, const char *const *regions, unsigned n)
{
	const char *mode = getenv("LIKWID_MODE"), *events = getenv("LIKWID_EVENTS"), *threads = getenv("LIKWID_THREADS");
	struct markers *m = mode && events && threads ? calloc(1, sizeof(*m)) : NULL;

	if (!m)
		return NULL;
	m->file = file_of(handle);
	m->mode = word_of_mode(mode);
	if (m->file && m->mode && split_groups(m, events) && list_cpus(m, threads) && name_regions(m, regions, n))
		return m;
	free_markers(m);
	return NULL;
}

bool markers_asked(void)
{
	return getenv("LIKWID_MODE");
}

char *markers_available(char **why)
{
	void *handle;
	char *file;

	*why = left_out();
	if (*why || !(handle = load(why)))
		return NULL;
	file = file_of(handle);
	dlclose(handle);
	return file;
}

struct markers *markers_open(struct team *team, const char *const *regions, unsigned n, char **why)
{
	const char *missing;
	struct markers *m;
	void *handle;

	*why = NULL;
	if (!markers_asked() || (*why = left_out()))
		return NULL;
	if ((missing = missing_variable())) {
		*why = say("LIKWID_MODE is set, but not %s: run it by likwid-perfctr -m, or unset LIKWID_MODE", missing);
		return NULL;
	}
	handle = load(why);
	if (!handle)
		return NULL;
	m = make(handle, regions, n);
	if (!m || (missing = find(handle, &m->library))) {
		*why = m ? say("LIKWID's library lacks %s: take LIKWID 5.0 or newer", missing) : say("%s", strerror(ENOMEM));
	} else if (!n || begin_all(m, team)) {
		return m; /* the library stays: it has things to do when the program ends */
	} else {
		*why = say("%s could not begin to count, see what it said on stderr: look at likwid-perfctr without locus, and at the rights of its access daemon",
			   m->file);
	}
	free_markers(m);
	dlclose(handle);
	return NULL;
}

void markers_close(struct markers *m)
{
	if (m && m->regions)
		m->library.close();
	free_markers(m);
}

struct passage {
	const struct markers *markers;
	int (*go)(const char *);
	unsigned region;
};

static void pass(void *argument, struct worker *w)
{
	const struct passage *p = argument;

	if (markers_cover(p->markers, w->place.cpu))
		p->go(p->markers->region[p->region].name);
}

void markers_begin(struct markers *m, struct team *team, unsigned region)
{
	struct entered *e = &m->region[region];

	while (m->active != e->calls % m->groups)
		next_group(m);
	team_run(team, pass, &(struct passage){ m, m->library.start, region });
	e->began = clock_now();
}

void markers_end(struct markers *m, struct team *team, unsigned region)
{
	struct entered *e = &m->region[region];

	e->seconds += clock_now() - e->began;
	e->calls++;
	team_run(team, pass, &(struct passage){ m, m->library.stop, region });
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
	return cpu >= 0 && cpu < CPU_SETSIZE && CPU_ISSET((size_t)cpu, &m->covered);
}

const char *markers_cpus(const struct markers *m)
{
	return m->cpus;
}

const char *markers_library(const struct markers *m)
{
	return m->file;
}

const char *markers_mode(const struct markers *m)
{
	return m->mode;
}

unsigned markers_groups(const struct markers *m)
{
	return m->groups;
}

const char *markers_group(const struct markers *m, unsigned group)
{
	return m->group[group];
}
