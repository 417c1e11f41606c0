/* SPDX-License-Identifier: Apache-2.0 */
/* The events of perf_event_open() by name, as libpfm4 writes them. */
#include "count/perf.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/arithmetic.h"

#define PREFIX "perf::"

static const struct name {
	const char *name;
	uint64_t code;
} hardware_names[] = {
	{ "CPU-CYCLES", PERF_COUNT_HW_CPU_CYCLES },
	{ "CYCLES", PERF_COUNT_HW_CPU_CYCLES },
	{ "INSTRUCTIONS", PERF_COUNT_HW_INSTRUCTIONS },
	{ "CACHE-REFERENCES", PERF_COUNT_HW_CACHE_REFERENCES },
	{ "CACHE-MISSES", PERF_COUNT_HW_CACHE_MISSES },
	{ "BRANCH-INSTRUCTIONS", PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "BRANCHES", PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "BRANCH-MISSES", PERF_COUNT_HW_BRANCH_MISSES },
	{ "BUS-CYCLES", PERF_COUNT_HW_BUS_CYCLES },
	{ "STALLED-CYCLES-FRONTEND", PERF_COUNT_HW_STALLED_CYCLES_FRONTEND },
	{ "IDLE-CYCLES-FRONTEND", PERF_COUNT_HW_STALLED_CYCLES_FRONTEND },
	{ "STALLED-CYCLES-BACKEND", PERF_COUNT_HW_STALLED_CYCLES_BACKEND },
	{ "IDLE-CYCLES-BACKEND", PERF_COUNT_HW_STALLED_CYCLES_BACKEND },
	{ "REF-CYCLES", PERF_COUNT_HW_REF_CPU_CYCLES },
}, software_names[] = {
	{ "CPU-CLOCK", PERF_COUNT_SW_CPU_CLOCK },
	{ "TASK-CLOCK", PERF_COUNT_SW_TASK_CLOCK },
	{ "PAGE-FAULTS", PERF_COUNT_SW_PAGE_FAULTS },
	{ "FAULTS", PERF_COUNT_SW_PAGE_FAULTS },
	{ "MINOR-FAULTS", PERF_COUNT_SW_PAGE_FAULTS_MIN },
	{ "MAJOR-FAULTS", PERF_COUNT_SW_PAGE_FAULTS_MAJ },
	{ "CONTEXT-SWITCHES", PERF_COUNT_SW_CONTEXT_SWITCHES | PERF_INSIDE },
	{ "CS", PERF_COUNT_SW_CONTEXT_SWITCHES | PERF_INSIDE },
	{ "CPU-MIGRATIONS", PERF_COUNT_SW_CPU_MIGRATIONS | PERF_INSIDE },
	{ "MIGRATIONS", PERF_COUNT_SW_CPU_MIGRATIONS | PERF_INSIDE },
	{ "ALIGNMENT-FAULTS", PERF_COUNT_SW_ALIGNMENT_FAULTS },
	{ "EMULATION-FAULTS", PERF_COUNT_SW_EMULATION_FAULTS },
}, cache_names[] = {
	{ "L1-DCACHE-", PERF_COUNT_HW_CACHE_L1D },
	{ "L1-ICACHE-", PERF_COUNT_HW_CACHE_L1I },
	{ "LLC-", PERF_COUNT_HW_CACHE_LL },
	{ "DTLB-", PERF_COUNT_HW_CACHE_DTLB },
	{ "ITLB-", PERF_COUNT_HW_CACHE_ITLB },
	{ "BRANCH-", PERF_COUNT_HW_CACHE_BPU },
	{ "NODE-", PERF_COUNT_HW_CACHE_NODE },
}, access_names[] = { /* operation and result, as encoded in `config` */
	{ "LOADS", PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_ACCESS << 16 },
	{ "LOAD-MISSES", PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16 },
	{ "STORES", PERF_COUNT_HW_CACHE_OP_WRITE << 8 | PERF_COUNT_HW_CACHE_RESULT_ACCESS << 16 },
	{ "STORE-MISSES",
	  PERF_COUNT_HW_CACHE_OP_WRITE << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16 },
	{ "PREFETCHES",
	  PERF_COUNT_HW_CACHE_OP_PREFETCH << 8 | PERF_COUNT_HW_CACHE_RESULT_ACCESS << 16 },
	{ "PREFETCH-MISSES",
	  PERF_COUNT_HW_CACHE_OP_PREFETCH << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16 },
};

static const struct name *lookup(const struct name *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcasecmp(names[i].name, name))
			return &names[i];
	return NULL;
}

static bool known(struct wanted *w, const struct name *n, uint64_t type)
{
	if (!n)
		return false;
	w->type = type;
	w->code = n->code;
	return true;
}

static const char *bare(const struct wanted *w)
{
	return strncasecmp(w->event.name, PREFIX, strlen(PREFIX)) ? NULL
								  : w->event.name + strlen(PREFIX);
}

bool perf_software_find(void *library, struct wanted *w, struct reason *why)
{
	const char *name = bare(w);

	(void)library, (void)why;
	if (!name ||
	    !known(w, lookup(software_names, LENGTH(software_names), name), PERF_TYPE_SOFTWARE))
		return false;
	if (w->code == PERF_COUNT_SW_CPU_CLOCK || w->code == PERF_COUNT_SW_TASK_CLOCK) {
		w->event.unit = "s";
		w->factor = 1e-9;
	}
	w->event.proven = true; /* the kernel counts them in software */
	return true;
}

bool perf_hardware_find(void *library, struct wanted *w, struct reason *why)
{
	const char *name = bare(w);

	(void)library, (void)why;
	if (!name)
		return false;
	if (known(w, lookup(hardware_names, LENGTH(hardware_names), name), PERF_TYPE_HARDWARE))
		return true;
	for (size_t i = 0; i < LENGTH(cache_names); i++) {
		size_t length = strlen(cache_names[i].name);

		if (strncasecmp(name, cache_names[i].name, length) ||
		    !known(w, lookup(access_names, LENGTH(access_names), name + length),
			   PERF_TYPE_HW_CACHE))
			continue;
		w->code |= cache_names[i].code;
		return true;
	}
	return false;
}

static void list(const char *prefix, const struct name *names, size_t n,
		 void (*each)(void *, const char *), void *argument)
{
	char name[64];

	for (size_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), PREFIX "%s%s", prefix, names[i].name);
		each(argument, name);
	}
}

void perf_names(void *library, void (*each)(void *, const char *), void *argument)
{
	(void)library;
	list("", hardware_names, LENGTH(hardware_names), each, argument);
	list("", software_names, LENGTH(software_names), each, argument);
	for (size_t i = 0; i < LENGTH(cache_names); i++)
		list(cache_names[i].name, access_names, LENGTH(access_names), each, argument);
}
