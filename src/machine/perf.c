/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "machine/provider.h"
#include "machine/sysfs.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* ---- names, as libpfm4 has them ---- */

#define PREFIX "perf::"

/* Happens in the kernel only: where that is not to be looked at, it would read 0. */
#define INSIDE 0x100

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
	{ "CONTEXT-SWITCHES", PERF_COUNT_SW_CONTEXT_SWITCHES | INSIDE },
	{ "CS", PERF_COUNT_SW_CONTEXT_SWITCHES | INSIDE },
	{ "CPU-MIGRATIONS", PERF_COUNT_SW_CPU_MIGRATIONS | INSIDE },
	{ "MIGRATIONS", PERF_COUNT_SW_CPU_MIGRATIONS | INSIDE },
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
}, access_names[] = { /* what is done, and what comes of it, as they stand in a code */
	{ "LOADS", PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_ACCESS << 16 },
	{ "LOAD-MISSES", PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16 },
	{ "STORES", PERF_COUNT_HW_CACHE_OP_WRITE << 8 | PERF_COUNT_HW_CACHE_RESULT_ACCESS << 16 },
	{ "STORE-MISSES", PERF_COUNT_HW_CACHE_OP_WRITE << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16 },
	{ "PREFETCHES", PERF_COUNT_HW_CACHE_OP_PREFETCH << 8 | PERF_COUNT_HW_CACHE_RESULT_ACCESS << 16 },
	{ "PREFETCH-MISSES", PERF_COUNT_HW_CACHE_OP_PREFETCH << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16 },
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
	return strncasecmp(w->event.name, PREFIX, strlen(PREFIX)) ? NULL : w->event.name + strlen(PREFIX);
}

static bool software_find(void *library, struct wanted *w, struct reason *why)
{
	const char *name = bare(w);

	(void)library, (void)why;
	if (!name || !known(w, lookup(software_names, LENGTH(software_names), name), PERF_TYPE_SOFTWARE))
		return false;
	if (w->code == PERF_COUNT_SW_CPU_CLOCK || w->code == PERF_COUNT_SW_TASK_CLOCK) {
		w->event.unit = "s";
		w->factor = 1e-9;
	}
	w->event.proven = true; /* the kernel sees each of them */
	return true;
}

static bool hardware_find(void *library, struct wanted *w, struct reason *why)
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
		    !known(w, lookup(access_names, LENGTH(access_names), name + length), PERF_TYPE_HW_CACHE))
			continue;
		w->code |= cache_names[i].code;
		return true;
	}
	return false;
}

static unsigned list_names(const struct name *names, size_t n, unsigned i, char *name, size_t size)
{
	if (i >= n)
		return i - (unsigned)n + 1;
	snprintf(name, size, PREFIX "%s", names[i].name);
	return 0;
}

bool perf_name(unsigned i, char *name, size_t size)
{
	unsigned left = list_names(hardware_names, LENGTH(hardware_names), i, name, size);

	if (left)
		left = list_names(software_names, LENGTH(software_names), left - 1, name, size);
	if (left > LENGTH(cache_names) * LENGTH(access_names))
		return false;
	if (left)
		snprintf(name, size, PREFIX "%s%s", cache_names[(left - 1) / LENGTH(access_names)].name,
			 access_names[(left - 1) % LENGTH(access_names)].name);
	return true;
}

/* ---- counting ---- */

/* What read() gives. */
struct reading {
	uint64_t value, enabled, running;
};

struct perf_set {
	bool multiplex;
	unsigned n;
	struct {
		int file;
		unsigned index;
		double factor;
		struct reading before;
	} of[];
};

static int perf_open(const struct wanted *w, bool in_kernel)
{
	struct perf_event_attr attributes = {
		.type = (uint32_t)w->type,
		.size = sizeof(attributes),
		.config = w->type == PERF_TYPE_SOFTWARE ? w->code & ~(uint64_t)INSIDE : w->code,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.exclude_kernel = !in_kernel,
		.exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* What happens to a program is counted wherever the kernel notes it; what the program does, where it runs itself, as PAPI does. */
static int perf_try(const struct wanted *w)
{
	int file = w->type == PERF_TYPE_SOFTWARE ? perf_open(w, true) : -1;

	return file < 0 && !(w->type == PERF_TYPE_SOFTWARE && w->code & INSIDE) ? perf_open(w, false) : file;
}

static const struct wanted cycles = { .type = PERF_TYPE_HARDWARE, .code = PERF_COUNT_HW_CPU_CYCLES };

/* Of the kernel's setting; -2 (nothing is forbidden is -1) where it can't be read. */
static int paranoid(void)
{
	char *line = sysfs_line(THIS_MACHINE, "/proc/sys/kernel/perf_event_paranoid"), *end;
	long level = line ? strtol(line, &end, 10) : -2;

	if (line && (end == line || *end))
		level = -2;
	free(line);
	return (int)level;
}

/* It could be had up to a level; where it can't at this one, that is not the reason, or not the only one. */
static void forbidden(int highest, int enough, struct reason *why)
{
	int level = paranoid();

	if (level > highest) {
		because(why, "forbidden by perf_event_paranoid=%d", level);
		remedied(why, "sudo sysctl kernel.perf_event_paranoid=%d # in a container: --cap-add PERFMON", enough);
	} else {
		because(why, "forbidden, and not by perf_event_paranoid: by seccomp, as in a container?");
		remedied(why, "docker run --cap-add PERFMON ... # or with another profile of seccomp");
	}
}

void uncore_why(struct reason *why)
{
	forbidden(0, 0, why);
}

/* From 2 on the kernel's inside is hidden, from 3 on all is; but a container may forbid all at any. */
static void forbidden_event(const struct wanted *w, struct reason *why)
{
	bool inside = w->type == PERF_TYPE_SOFTWARE && w->code & INSIDE;
	int file = inside ? perf_open(w, false) : -1;

	forbidden(file < 0 ? 2 : 1, inside ? 1 : 2, why);
	if (file >= 0)
		close(file);
}

/* Why an event can't be opened, by the error that perf_event_open() left. */
static void explain(const struct wanted *w, int error, struct reason *why)
{
	bool software = w->type == PERF_TYPE_SOFTWARE;

	switch (error) {
	case EACCES:
	case EPERM:
		forbidden_event(w, why);
		return;
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
	case EINVAL:
		if (software) {
			because(why, "this kernel does not count it");
		} else if (w != &cycles && !hardware_why(why)) {
			because(why, "this processor counts cycles, but not this");
			remedied(why, "perf list hw cache # what it counts");
		} else {
			because(why, "no PMU (hidden by the host, or unknown to this kernel)");
			remedied(why, "# in a virtual machine, ask who runs its host for a virtual PMU (QEMU: -cpu host,pmu=on); in a cloud, take a metal type");
		}
		return;
	case ENOSYS:
		because(why, "this kernel has no perf_event_open, or hides it");
		remedied(why, "docker run --cap-add PERFMON ... # on a kernel with CONFIG_PERF_EVENTS");
		return;
	case EMFILE:
		because(why, "too many open files");
		remedied(why, "ulimit -n 10000");
		return;
	default:
		because(why, "perf_event_open: %s", strerror(error));
	}
}

static bool unopened(const struct wanted *w, struct reason *why)
{
	int file = perf_try(w);

	if (file < 0)
		explain(w, errno, why);
	else
		close(file);
	return file < 0;
}

bool hardware_why(struct reason *why)
{
	return unopened(&cycles, why);
}

bool counters_forbidden(enum counted what, struct reason *why)
{
	static const struct wanted switches = { .type = PERF_TYPE_SOFTWARE, .code = PERF_COUNT_SW_CONTEXT_SWITCHES | INSIDE };

	return what == BY_PROCESSOR ? hardware_why(why) : unopened(&switches, why);
}

static void perf_stop(void *set)
{
	struct perf_set *s = set;

	for (unsigned i = 0; i < s->n; i++)
		close(s->of[i].file);
	free(s);
}

static bool reading(int file, struct reading *r)
{
	return read(file, r, sizeof(*r)) == sizeof(*r);
}

/* Whether all get a counter of their own now; the first that does not. */
static bool all_run(struct perf_set *s, unsigned *which)
{
	for (*which = 0; *which < s->n; ++*which) {
		struct reading r;

		if (!reading(s->of[*which].file, &r) || (!s->multiplex && r.running < r.enabled))
			return false;
	}
	return true;
}

static void taken(struct reason *why)
{
	uint64_t watchdog;

	if (!sysfs_number(THIS_MACHINE, &watchdog, "/proc/sys/kernel/nmi_watchdog") && watchdog) {
		because(why, "no counter is free, and the NMI watchdog has one");
		remedied(why, "sudo sysctl kernel.nmi_watchdog=0");
	} else {
		because(why, "no counter is free: somebody counts on all of this CPU");
		remedied(why, "pgrep -a 'perf|likwid|papi|pmda' # who?");
	}
}

static void *perf_start(void *library, struct wanted *const *w, unsigned n, int cpu, bool multiplex, const struct wanted **failed,
			struct reason *why)
{
	struct perf_set *s = calloc(1, sizeof(*s) + n * sizeof(s->of[0]));
	unsigned which = 0;

	(void)library, (void)cpu;
	*failed = w[0];
	if (!s) {
		because(why, "no memory");
		return NULL;
	}
	s->multiplex = multiplex;
	for (; s->n < n; s->n++) {
		s->of[s->n].file = perf_try(w[s->n]);
		s->of[s->n].index = w[s->n]->index;
		s->of[s->n].factor = w[s->n]->factor;
		if (s->of[s->n].file >= 0)
			continue;
		*failed = w[s->n];
		explain(w[s->n], errno, why);
		goto fail;
	}
	if (all_run(s, &which)) {
		*failed = NULL;
		return s;
	}
	*failed = w[which];
	taken(why);
fail:
	perf_stop(s);
	return NULL;
}

/* What was counted between two readings: all of it, or, of those that take turns, what it would have been; else NAN. */
static double between(const struct perf_set *s, const struct reading *a, const struct reading *b)
{
	double count = (double)(b->value - a->value), share;

	if (b->running - a->running == b->enabled - a->enabled)
		return count;
	share = (double)(b->running - a->running) / (double)(b->enabled - a->enabled);
	return s->multiplex && share > 0 ? count / share : NAN;
}

static void perf_read(void *set, bool after, double *value)
{
	struct perf_set *s = set;
	struct reading now = { 0 };

	for (unsigned i = 0; i < s->n; i++) {
		bool there = reading(s->of[i].file, &now);

		if (!after)
			s->of[i].before = now;
		else
			value[s->of[i].index] = there ? between(s, &s->of[i].before, &now) * s->of[i].factor : NAN;
	}
}

const struct provider perf_software = { "perf", NULL, NULL, software_find, perf_start, perf_read, perf_stop };
const struct provider perf_hardware = { "perf", NULL, NULL, hardware_find, perf_start, perf_read, perf_stop };
