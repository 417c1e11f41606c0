/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/text.h"
#include "count/likwid.h"
#include "machine/threads/affinity.h"

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

/* LIKWID up to 5.4 does. */
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
