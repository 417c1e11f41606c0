/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What LIKWID's source asks of its user (5.2 to 5.5: libperfctr.c, hashTable.c,
 * perfmon_perfevent.h, pthread-overload.c):
 *
 * - With perf_event, likwid_markerInit() opens its counters for the process (the main thread), to
 * - be
 *   inherited by threads that it creates later: threads that are there already read zero for ever.
 *   So it is called before any parallel region (5.2; 5.5 counts whatever runs on a CPU).
 * - Counts are kept by CPU up to 5.4; since 5.5 by thread, in the column of the CPU where LIKWID
 *   first met the thread, and the columns are as many as threads were met. So on each CPU of
 *   LIKWID_THREADS one thread, which never moves, makes all calls, and no other thread makes any.
 * - likwid_markerInit() and likwid_markerThreadInit() pin the calling thread, in the order in which
 *   threads happen to come: each is put back here.
 * - Up to 5.4 a region has a number on each CPU, in order of appearance, and the file is written as
 *   if it were the same on all: two CPUs that saw other regions, or the same in another order,
 *   overwrite each other's names. So each CPU gets all regions, in one order, before any is
 *   entered.
 * - Up to 5.4 a region's group is unset memory until it was left once, and the file is written by
 *   what the first CPU says of it. So each region is entered, left and reset on each CPU first.
 * - A CPU outside LIKWID_THREADS must not see a region: it would be a column that no table has.
 * - Two workers on one CPU share its entry: such trials have no region (see harness/run.c).
 * - In the file a region is "number:name-group", read back up to the last "-" in 99 letters;
 *   likwid-mpirun ends names at blanks, and CSV at commas.
 */
#include "config.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "count/cputhreads.h"
#include "count/markers.h"
#include "machine/clock.h"
#include "machine/cpuset.h"

enum { LONGEST_NAME = 80, EVENTS = 64, MOST_CPU = 65535 };

struct library {
	void (*init)(void), (*thread_init)(void), (*next_group)(void), (*close)(void);
	void (*finalize)(void);
	int (*register_region)(const char *), (*start)(const char *), (*stop)(const char *),
		(*reset)(const char *);
	void (*get)(const char *, int *events, double *counts, double *seconds, int *calls);
};

/* What a region counted on a CPU so far, in any group. */
enum seen { NOT_ENTERED, UNREAD, ZERO, COUNTED };

struct entered {
	char *name;
	uint64_t calls;
	double seconds, began; /* s inside; clock_now() */
	enum seen *seen;       /* by index of the CPU */
};

struct markers {
	struct library library;
	char *file, *cpus, *mode;
	char *groups_text, **group;
	unsigned groups, active;
	struct entered *region;
	unsigned regions;
	/* a group may have counters of the cores, not just of the socket */
	bool core;
	hwloc_bitmap_t covered;
	int *cpu;     /* LIKWID_THREADS, each once */
	bool *wanted; /* by index of these: a worker sits there */
	unsigned listed;
	struct cputhreads *threads; /* one for each of these */
	bool ready;		    /* regions can be entered */
	/* what the library answered where it refused a region; 0: it did not */
	_Atomic int refused;
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

/*
 * Under likwid-perfctr -C the library for pinning is loaded: the one beside it is of the same
 * LIKWID.
 */
static char *beside_preloaded(void)
{
	static const char theirs[] = "likwidpin", ours[] = "likwid";
	const char *preload = getenv("LD_PRELOAD"),
		   *found = preload ? strstr(preload, theirs) : NULL, *begin = found, *end = found;
	char *path = NULL;

	if (!found)
		return NULL;
	while (begin > preload && begin[-1] != ':' && begin[-1] != ' ')
		begin--;
	while (*end && *end != ':' && *end != ' ')
		end++;
	found += sizeof(theirs) - 1;
	if (asprintf(&path, "%.*s%s%.*s", (int)(found - (sizeof(theirs) - 1) - begin), begin, ours,
		     (int)(end - found), found) < 0)
		return NULL;
	return path;
}

static void *load(char **why)
{
	static const char *const names[] = { "liblikwid.so",	 "liblikwid.so.5.5",
					     "liblikwid.so.5.4", "liblikwid.so.5.3",
					     "liblikwid.so.5.2", "liblikwid.so.5.1",
					     "liblikwid.so.5.0" };
	char *beside = beside_preloaded();
	void *handle = beside ? dlopen(beside, RTLD_NOW | RTLD_LOCAL) : NULL;

	free(beside);
	for (size_t i = 0; !handle && i < sizeof(names) / sizeof(*names); i++)
		handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		const char *error = dlerror();

		*why = say("LIKWID's library could not be loaded (%s): put the folder of its "
			   "liblikwid.so into LD_LIBRARY_PATH",
			   error ? error : "no reason given");
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
		{ "likwid_markerInit", &l->init },
		{ "likwid_markerThreadInit", &l->thread_init },
		{ "likwid_markerNextGroup", &l->next_group },
		{ "likwid_markerClose", &l->close },
		{ "likwid_markerRegisterRegion", &l->register_region },
		{ "likwid_markerStartRegion", &l->start },
		{ "likwid_markerStopRegion", &l->stop },
		{ "likwid_markerResetRegion", &l->reset },
		{ "likwid_markerGetRegion", &l->get },
		{ "perfmon_finalize", &l->finalize },
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

/*
 * Since 5.5 what a region counts is no longer kept apart by group: there the first group counts
 * alone.
 */
static bool keeps_groups(const char *file)
{
	unsigned major = 5, minor = 0;
	const char *version = strstr(file, ".so.");

	return !version || sscanf(version, ".so.%u.%u", &major, &minor) != 2 || major < 5 ||
	       (major == 5 && minor < 5);
}

static char *word_of_mode(const char *mode)
{
	return strdup(!strcmp(mode, "-1")  ? "perf_event"
		      : !strcmp(mode, "0") ? "direct"
		      : !strcmp(mode, "1") ? "accessdaemon"
					   : mode);
}

/*
 * Groups by name all have some. A list of events names its counters: those of a socket (MBOX, CBOX,
 * PWR) are read on one of its CPUs, and are zero on all others.
 */
static bool has_core_counters(const char *group)
{
	return !strchr(group, ':') || strstr(group, ":PMC") || strstr(group, ":FIXC");
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
	for (unsigned i = 0; i < m->groups; i++)
		m->core |= has_core_counters(m->group[i]);
	return true;
}

static bool list_cpus(struct markers *m, const char *threads)
{
	const char *p = threads;
	size_t room = 1;

	m->cpus = strdup(threads);
	m->covered = hwloc_bitmap_alloc();
	for (const char *q = p; *q; q++)
		room += *q == ',';
	m->cpu = calloc(room, sizeof(*m->cpu));
	m->wanted = calloc(room, sizeof(*m->wanted));
	if (!m->cpus || !m->covered || !m->cpu || !m->wanted)
		return false;
	while (m->listed < room) {
		char *end;
		long cpu = strtol(p, &end, 10);

		if (end == p || cpu < 0 || cpu > MOST_CPU)
			break;
		if (!hwloc_bitmap_isset(m->covered, (unsigned)cpu))
			m->cpu[m->listed++] = (int)cpu;
		hwloc_bitmap_set(m->covered, (unsigned)cpu);
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
	while (m->region && m->regions < n) {
		struct entered *e = &m->region[m->regions];

		e->name = strndup(regions[m->regions++], LONGEST_NAME);
		e->seen = calloc(m->listed + 1, sizeof(*e->seen));
		if (!e->name || !e->seen)
			return false;
		for (char *p = e->name; *p; p++)
			if (!isascii(*p) || !isalnum(*p))
				*p = '_';
	}
	return m->region;
}

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
	free(m->cpu);
	free(m->wanted);
	hwloc_bitmap_free(m->covered);
	free(m->group);
	free(m->groups_text);
	free(m->file);
	free(m->cpus);
	free(m->mode);
	free(m);
}

/* The thread stays where it is, whatever LIKWID does with it. */
static void stay(void (*init)(void))
{
	hwloc_bitmap_t before = cpuset_get();

	init();
	if (before)
		cpuset_set(before);
	hwloc_bitmap_free(before);
}

static void init_thread(void *argument, unsigned thread)
{
	const struct markers *m = argument;

	(void)thread;
	stay(m->library.thread_init);
}

static void register_all(void *argument, unsigned thread)
{
	struct markers *m = argument;

	(void)thread;
	for (unsigned i = 0; i < m->regions; i++) {
		int answer = m->library.register_region(m->region[i].name);

		if (answer < 0)
			m->refused = answer;
	}
}

/* What this thread's CPU counted in a region: the most that is known of an event. */
static enum seen look(const struct markers *m, unsigned region)
{
	double count[EVENTS], seconds;
	enum seen most = UNREAD;
	int events = EVENTS, calls;

	m->library.get(m->region[region].name, &events, count, &seconds, &calls);
	for (int i = 0; i < events; i++) {
		if (count[i] > 0)
			return COUNTED;
		if (!isnan(count[i]))
			most = ZERO;
	}
	return most;
}

static void prime_all(void *argument, unsigned thread)
{
	struct markers *m = argument;

	for (unsigned i = 0; i < m->regions; i++) {
		enum seen *seen = &m->region[i].seen[thread], now;

		m->library.start(m->region[i].name);
		m->library.stop(m->region[i].name);
		now = look(m, i);
		*seen = now > *seen ? now : *seen;
		m->library.reset(m->region[i].name);
	}
}

static void next_group(struct markers *m)
{
	m->active = (m->active + 1) % m->groups;
	m->library.next_group();
}

static void visit_all(struct markers *m, void (*visit)(void *, unsigned))
{
	for (unsigned g = 0; g < m->groups && !m->refused; g++) {
		cputhreads_run(m->threads, NULL, visit, m);
		if (m->groups > 1)
			next_group(m);
	}
}

/* Whether an event of any group can be read at all; then forgets what was seen. */
static bool readable(struct markers *m)
{
	bool any = false;

	for (unsigned i = 0; i < m->regions; i++)
		for (unsigned j = 0; j < m->listed; j++) {
			any |= m->region[i].seen[j] > UNREAD;
			m->region[i].seen[j] = NOT_ENTERED;
		}
	return any;
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

static struct markers *make(void *handle)
{
	const char *mode = getenv("LIKWID_MODE"), *events = getenv("LIKWID_EVENTS"),
		   *threads = getenv("LIKWID_THREADS");
	struct markers *m = mode && events && threads ? calloc(1, sizeof(*m)) : NULL;

	if (!m)
		return NULL;
	m->file = file_of(handle);
	m->mode = word_of_mode(mode);
	if (m->file && m->mode && split_groups(m, events) && list_cpus(m, threads))
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

struct markers *markers_open(char **why)
{
	const char *missing;
	struct markers *m;
	void *handle;

	*why = NULL;
	if (!markers_asked() || (*why = left_out()))
		return NULL;
	if ((missing = missing_variable())) {
		*why = say("LIKWID_MODE is set, but not %s: run it by likwid-perfctr -m, or unset "
			   "LIKWID_MODE",
			   missing);
		return NULL;
	}
	handle = load(why);
	if (!handle)
		return NULL;
	m = make(handle);
	if (m && !(missing = find(handle, &m->library))) {
		stay(m->library.init);
		return m; /* the library stays: it has things to do when the program ends */
	}
	*why = m ? say("LIKWID's library lacks %s: take LIKWID 5.0 or newer", missing)
		 : say("%s", strerror(ENOMEM));
	free_markers(m);
	dlclose(handle);
	return NULL;
}

/* Why there are no threads for LIKWID's CPUs. */
static char *no_threads(const struct markers *m, int culprit, int error)
{
	char *why;

	if (culprit < 0)
		return say("a thread on each CPU of LIKWID's could not be made (%s): look at "
			   "ulimit -u",
			   strerror(error));
	if (asprintf(&why,
		     "LIKWID counts on CPUs %s, of which CPU %d is not ours (%s): name others with "
		     "likwid-perfctr -C or -c",
		     m->cpus, culprit, strerror(error)) < 0)
		return NULL;
	return why;
}

bool markers_register(struct markers *m, const char *const *regions, unsigned n, char **why)
{
	int culprit;

	*why = NULL;
	if (!name_regions(m, regions, n)) {
		*why = say("%s", strerror(ENOMEM));
		return false;
	}
	m->threads = cputhreads_open(m->cpu, m->listed, &culprit);
	if (!m->threads) {
		*why = no_threads(m, culprit, errno);
		return false;
	}
	cputhreads_run(m->threads, NULL, init_thread, m);
	visit_all(m, register_all);
	visit_all(m, prime_all);
	if (m->refused)
		*why = say("%s could not begin to count, see what it said on stderr: look at "
			   "likwid-perfctr without locus, and at the rights of its access daemon",
			   m->file);
	else if (!readable(m))
		*why = say("no event of LIKWID_EVENTS (%s) can be read: likwid-perfctr -e lists "
			   "events and counters of this processor",
			   getenv("LIKWID_EVENTS"));
	return m->ready = !*why;
}

void markers_close(struct markers *m)
{
	if (m && m->ready)
		m->library.close();
	else if (m)
		m->library.finalize(); /* close() would complain that there are no regions */
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
	p->markers->library.start(p->markers->region[p->region].name);
}

static void stop(void *argument, unsigned thread)
{
	const struct passage *p = argument;
	struct entered *e = &p->markers->region[p->region];
	enum seen now;

	p->markers->library.stop(e->name);
	now = look(p->markers, p->region);
	e->seen[thread] = now > e->seen[thread] ? now : e->seen[thread];
}

/* In the threads of those of LIKWID's CPUs on which a worker sits. */
static void pass(struct markers *m, struct team *team, unsigned region,
		 void (*go)(void *, unsigned))
{
	for (unsigned j = 0; j < m->listed; j++) {
		m->wanted[j] = false;
		for (unsigned i = 0; i < team_threads(team); i++)
			m->wanted[j] |= m->cpu[j] == team_worker(team, i)->place.cpu;
	}
	cputhreads_run(m->threads, m->wanted, go, &(struct passage){ m, region });
}

void markers_begin(struct markers *m, struct team *team, unsigned region)
{
	struct entered *e = &m->region[region];

	while (m->active != e->calls % m->groups)
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
	for (unsigned i = 0; i < m->listed && m->core; i++)
		if (m->cpu[i] == cpu)
			return m->region[region].seen[i] == NOT_ENTERED ||
			       m->region[region].seen[i] == COUNTED;
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
	return cpu >= 0 && hwloc_bitmap_isset(m->covered, (unsigned)cpu);
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
