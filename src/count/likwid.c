/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "count/likwid.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/text.h"
#include "machine/threads/affinity.h"

/* --- data from likwid-perfctr --- */

enum { MOST_CPU = 65535 };

bool perfctr_asked(void)
{
	return getenv("LIKWID_MODE");
}

const char *perfctr_missing(void)
{
	static const char *const names[] = { "LIKWID_FILEPATH", "LIKWID_EVENTS", "LIKWID_THREADS" };

	for (size_t i = 0; i < LENGTH(names); i++)
		if (!getenv(names[i]))
			return names[i];
	return NULL;
}

static char *mode_of(const char *mode)
{
	return strdup(!strcmp(mode, "-1")  ? "perf_event"
		      : !strcmp(mode, "0") ? "direct"
		      : !strcmp(mode, "1") ? "accessdaemon"
					   : mode);
}

/*
 * Whether a group counts on each core. All of LIKWID's named groups do. A list of events names its
 * counters: a socket's (MBOX, CBOX, PWR) are read on one of its CPUs and are zero on the others.
 */
static bool has_core_counters(const char *group)
{
	return !strchr(group, ':') || strstr(group, ":PMC") || strstr(group, ":FIXC");
}

static bool split_groups(struct perfctr *p, const char *events, bool one)
{
	char *rest;
	unsigned n = 1;

	for (const char *c = events; *c; c++)
		n += *c == '|';
	p->text = rest = strdup(events);
	p->group = calloc(n, sizeof(*p->group));
	if (!rest || !p->group)
		return false;
	n = one ? 1 : n;
	for (unsigned i = 0; i < n; i++) {
		p->group[i] = strsep(&rest, "|");
		p->core |= has_core_counters(p->group[i]);
	}
	p->groups = n;
	return true;
}

static bool list_cpus(struct perfctr *p, const char *threads)
{
	const char *next = threads;
	size_t room = 1;

	p->cpus = strdup(threads);
	p->on = hwloc_bitmap_alloc();
	for (const char *c = threads; *c; c++)
		room += *c == ',';
	p->cpu = calloc(room, sizeof(*p->cpu));
	if (!p->cpus || !p->on || !p->cpu)
		return false;
	while (p->listed < room) {
		char *end;
		long cpu = strtol(next, &end, 10);

		if (end == next || cpu < 0 || cpu > MOST_CPU)
			break;
		if (!hwloc_bitmap_isset(p->on, (unsigned)cpu))
			p->cpu[p->listed++] = (int)cpu;
		hwloc_bitmap_set(p->on, (unsigned)cpu);
		if (*end == '.') /* Lua may write 1.0 */
			end += strspn(end, ".0");
		if (*end != ',')
			break;
		next = end + 1;
	}
	return true;
}

bool perfctr_read(struct perfctr *p, bool one)
{
	const char *mode = getenv("LIKWID_MODE"), *events = getenv("LIKWID_EVENTS"),
		   *threads = getenv("LIKWID_THREADS");

	*p = (struct perfctr){ .mode = mode ? mode_of(mode) : NULL };
	return p->mode && events && threads && split_groups(p, events, one) &&
	       list_cpus(p, threads);
}

void perfctr_free(struct perfctr *p)
{
	free(p->mode);
	free(p->group);
	free(p->cpus);
	free(p->cpu);
	hwloc_bitmap_free(p->on);
	free(p->text);
}

/* --- the library --- */

enum { EVENTS = 64 };

/* Why this build has no LIKWID; NULL: it has. */
static char *left_out(void)
{
#ifdef LOCUS_WITHOUT_LIKWID
	return strdup("this locus was built --without-likwid: configure it without that");
#else
	return NULL;
#endif
}

/*
 * likwid-perfctr -C preloads liblikwidpin.so. Returns the path of the liblikwid.so in the same
 * folder, which has the same version; NULL: none.
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

static void *open_library(char **why)
{
	static const char *const names[] = { "liblikwid.so",	 "liblikwid.so.5.5",
					     "liblikwid.so.5.4", "liblikwid.so.5.3",
					     "liblikwid.so.5.2", "liblikwid.so.5.1",
					     "liblikwid.so.5.0" };
	char *beside = beside_preloaded();
	void *handle = beside ? dlopen(beside, RTLD_NOW | RTLD_LOCAL) : NULL;

	free(beside);
	for (size_t i = 0; !handle && i < LENGTH(names); i++)
		handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		const char *error = dlerror();

		*why = text_of("LIKWID's library could not be loaded (%s): put the folder of its "
			       "liblikwid.so into LD_LIBRARY_PATH",
			       error ? error : "no reason given");
	}
	return handle;
}

/* Looks up all functions. Returns the name of the first that is missing; NULL: none is. */
static const char *find(void *handle, struct likwid *l)
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

	for (size_t i = 0; i < LENGTH(wanted); i++) {
		void *symbol = dlsym(handle, wanted[i].name);

		if (!symbol)
			return wanted[i].name;
		memcpy(wanted[i].where, &symbol, sizeof(symbol));
	}
	return NULL;
}

/* The file's name without its folder, with links resolved, so that it shows the version. */
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

char *likwid_available(char **why)
{
	void *handle;
	char *file;

	*why = left_out();
	if (*why || !(handle = open_library(why)))
		return NULL;
	file = file_of(handle);
	dlclose(handle);
	return file;
}

bool likwid_load(struct likwid *l, char **why)
{
	const char *missing;

	*l = (struct likwid){ 0 };
	*why = left_out();
	if (*why || !(l->handle = open_library(why)))
		return false;
	l->file = file_of(l->handle);
	missing = find(l->handle, l);
	if (l->file && !missing)
		return true;
	*why = missing ? text_of("LIKWID's library lacks %s: use LIKWID 5.0 or newer", missing)
		       : strdup(strerror(ENOMEM));
	likwid_unload(l);
	return false;
}

void likwid_unload(struct likwid *l)
{
	dlclose(l->handle);
	likwid_forget(l);
}

void likwid_forget(struct likwid *l)
{
	free(l->file);
}

/* Calls init() and restores the thread's CPUs, since LIKWID pins it. */
static void stay(void (*init)(void))
{
	hwloc_bitmap_t before = cpuset_get();

	init();
	if (before)
		cpuset_set(before);
	hwloc_bitmap_free(before);
}

void likwid_init(const struct likwid *l)
{
	stay(l->init);
}

void likwid_init_thread(const struct likwid *l)
{
	stay(l->thread_init);
}

/* LIKWID up to 5.4 keeps them */
bool likwid_keeps_groups(const struct likwid *l)
{
	unsigned major = 5, minor = 0;
	const char *version = strstr(l->file, ".so.");

	return !version || sscanf(version, ".so.%u.%u", &major, &minor) != 2 || major < 5 ||
	       (major == 5 && minor < 5);
}

enum likwid_seen likwid_see(const struct likwid *l, const char *region)
{
	double count[EVENTS], seconds;
	enum likwid_seen most = LIKWID_UNREAD;
	int events = EVENTS, calls;

	l->get(region, &events, count, &seconds, &calls);
	for (int i = 0; i < events; i++) {
		if (count[i] > 0)
			return LIKWID_COUNTED;
		if (!isnan(count[i]))
			most = LIKWID_ZERO;
	}
	return most;
}
