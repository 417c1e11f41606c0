/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "count/perfctr.h"

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
 * counters: those of a socket (MBOX, CBOX, PWR) are read on one of its CPUs and are zero on the
 * others.
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
