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

#include "machine/affinity.h"
#include "count/markers.h"
#include "count/provider.h"
#include "base/sysfs.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define WHO_COUNTS    "pgrep -a 'perf|likwid|papi|pmda' # who?"

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

static bool software_find(void *library, struct wanted *w, struct reason *why)
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

void perf_names(void (*each)(void *, const char *), void *argument)
{
	list("", hardware_names, LENGTH(hardware_names), each, argument);
	list("", software_names, LENGTH(software_names), each, argument);
	for (size_t i = 0; i < LENGTH(cache_names); i++)
		list(cache_names[i].name, access_names, LENGTH(access_names), each, argument);
}

/* ---- what stands in the way ---- */

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

/*
 * By what LIKWID shows to have the processor's counters; NULL: it has not. Only with -m does
 * likwid-perfctr set a variable.
 */
static const char *owner(void)
{
	return markers_asked()	      ? "LIKWID_MODE is set"
	       : started_by_perfctr() ? "it started us"
				      : NULL;
}

/*
 * What happens to a program is counted wherever the kernel notes it; what the program does, where
 * it runs itself, as PAPI does. The processor's counters have one owner.
 */
static int perf_try(const struct wanted *w)
{
	int file;

	if (w->type == PERF_TYPE_SOFTWARE) {
		file = perf_open(w, true);
		return file < 0 && !(w->code & INSIDE) ? perf_open(w, false) : file;
	}
	if (!owner())
		return perf_open(w, false);
	errno = EBUSY;
	return -1;
}

static const struct wanted cycles = { .type = PERF_TYPE_HARDWARE,
				      .code = PERF_COUNT_HW_CPU_CYCLES };

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

/*
 * It could be had up to a level; where it can't at this one, that is not the reason, or not the
 * only one.
 */
static void forbidden(int highest, int enough, struct reason *why)
{
	int level = paranoid();

	if (level > highest) {
		because(why, "forbidden by perf_event_paranoid=%d", level);
		remedied(why,
			 "sudo sysctl kernel.perf_event_paranoid=%d # in a container: --cap-add "
			 "PERFMON",
			 enough);
	} else {
		because(why, "forbidden, and not by perf_event_paranoid: by seccomp, as in a "
			     "container?");
		remedied(why,
			 "docker run --cap-add PERFMON ... # or with another profile of seccomp");
	}
}

void uncore_why(struct reason *why)
{
	forbidden(0, 0, why);
}

/*
 * From 2 on the kernel's inside is hidden, from 3 on all is; but a container may forbid all at any.
 */
static void forbidden_event(const struct wanted *w, struct reason *why)
{
	bool inside = w->type == PERF_TYPE_SOFTWARE && w->code & INSIDE;
	int file = inside ? perf_open(w, false) : -1;

	forbidden(file < 0 ? 2 : 1, inside ? 1 : 2, why);
	if (file >= 0)
		close(file);
}

static void uncounted(const struct wanted *w, struct reason *why)
{
	if (w->type == PERF_TYPE_SOFTWARE) {
		because(why, "this kernel does not count it");
	} else if (w == &cycles) {
		because(why, "no PMU (hidden by the host, or unknown to this kernel)");
		remedied(why, "# in a virtual machine, ask who runs its host for a virtual PMU "
			      "(QEMU: -cpu host,pmu=on); in a cloud, take a metal type");
	} else if (!hardware_why(why)) { /* else that is the reason */
		because(why, "this processor counts cycles, but not this");
		remedied(why, "perf list hw cache # what it counts");
	}
}

static void no_such_call(const struct wanted *w, struct reason *why)
{
	(void)w;
	because(why, "this kernel has no perf_event_open, or hides it");
	remedied(why, "docker run --cap-add PERFMON ... # on a kernel with CONFIG_PERF_EVENTS");
}

/*
 * LIKWID writes the counters' registers behind the kernel's back, or lets the kernel, and then does
 * not ask for how long they counted: nobody would notice.
 */
bool hardware_owned(struct reason *why)
{
	if (!owner())
		return false;
	because(why,
		"likwid-perfctr has the processor's counters (%s), and two owners would both count "
		"wrong",
		owner());
	remedied(why, "likwid-perfctr -g GROUP ... # let it count; or run locus without it");
	return true;
}

static void owned(const struct wanted *w, struct reason *why)
{
	(void)w;
	if (hardware_owned(why))
		return;
	because(why, "somebody has the processor's counters for himself");
	remedied(why, WHO_COUNTS);
}

static const struct cause {
	int error; /* of perf_event_open() */
	void (*explain)(const struct wanted *, struct reason *);
} causes[] = {
	{ EACCES, forbidden_event }, { EPERM, forbidden_event }, { ENOENT, uncounted },
	{ ENODEV, uncounted },	     { EOPNOTSUPP, uncounted },	 { EINVAL, uncounted },
	{ ENOSYS, no_such_call },    { EBUSY, owned },
};

static void explain(const struct wanted *w, int error, struct reason *why)
{
	if (too_few_files(error, why))
		return;
	for (size_t i = 0; i < LENGTH(causes); i++) {
		if (causes[i].error == error) {
			causes[i].explain(w, why);
			return;
		}
	}
	because(why, "perf_event_open: %s", strerror(error));
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
	static const struct wanted switches = { .type = PERF_TYPE_SOFTWARE,
						.code = PERF_COUNT_SW_CONTEXT_SWITCHES | INSIDE };

	return what == BY_PROCESSOR ? hardware_why(why) : unopened(&switches, why);
}

static void taken(struct reason *why)
{
	uint64_t watchdog;

	if (!sysfs_number(THIS_MACHINE, &watchdog, "/proc/sys/kernel/nmi_watchdog") && watchdog) {
		because(why, "no counter is free, and the NMI watchdog has one");
		remedied(why, "sudo sysctl kernel.nmi_watchdog=0");
	} else {
		because(why, "no counter is free: somebody counts on all of this CPU");
		remedied(why, WHO_COUNTS);
	}
}

/* ---- counting ---- */

/* What read() gives: a count, and the ns that it was wanted and that it had a counter. */
struct reading {
	uint64_t value, enabled, running;
};

/*
 * Each event is read by itself. A group could be read by one call (PERF_FORMAT_GROUP; PAPI's sets
 * are such), for as many descriptors; but a group has all of its counters or none, so that one
 * event without would leave all without a value, and events that take turns can't be in one.
 */
struct perf_event {
	int file;
	unsigned index;
	double factor;
	struct reading before; /* the task */
	/* in all tasks since it first had a counter; only of those that take turns */
	struct reading measured;
};

struct perf_set {
	bool multiplex;
	unsigned n;
	struct perf_event of[];
};

/* Where it can't be read, it had a counter for longer than it was wanted, as none has. */
static struct reading reading(int file)
{
	struct reading r;

	return read(file, &r, sizeof(r)) == sizeof(r) ? r
						      : (struct reading){ .running = UINT64_MAX };
}

static bool is_read(const struct reading *r)
{
	return r->running <= r->enabled;
}

static void perf_stop(void *set)
{
	struct perf_set *s = set;

	for (unsigned i = 0; i < s->n; i++)
		close(s->of[i].file);
	free(s);
}

static bool perf_add(struct perf_set *s, const struct wanted *w)
{
	struct perf_event e = { .file = perf_try(w), .index = w->index, .factor = w->factor };

	if (e.file < 0)
		return false;
	s->of[s->n++] = e;
	return true;
}

/* The first that can't be read, or has no counter of its own now; n: none. */
static unsigned first_idle(const struct perf_set *s)
{
	for (unsigned i = 0; i < s->n; i++) {
		const struct reading r = reading(s->of[i].file);

		if (!is_read(&r) || (!s->multiplex && r.running < r.enabled))
			return i;
	}
	return s->n;
}

static void *perf_start(void *library, struct wanted *const *w, unsigned n, int cpu, bool multiplex,
			const struct wanted **failed, struct reason *why)
{
	struct perf_set *s = calloc(1, sizeof(*s) + n * sizeof(s->of[0]));
	unsigned idle;

	(void)library, (void)cpu;
	*failed = w[0];
	if (!s) {
		because(why, "no memory");
		return NULL;
	}
	s->multiplex = multiplex;
	while (s->n < n && perf_add(s, w[s->n]))
		;
	if (s->n < n) {
		explain(w[s->n], errno, why);
		*failed = w[s->n];
	} else if ((idle = first_idle(s)) < n) {
		taken(why);
		*failed = w[idle];
	} else {
		*failed = NULL;
		return s;
	}
	perf_stop(s);
	return NULL;
}

/* What it would have been, had it had a counter all the time. */
static double extrapolated(const struct reading *r)
{
	return r->running ? (double)r->value * ((double)r->enabled / (double)r->running) : 0;
}

/*
 * What was counted in a task. Of events that take turns, by how much what is known of all tasks has
 * changed: tasks are shorter than turns, so that the sum tells, and what one task seems to add may
 * be negative. Before its first turn nothing is known of an event.
 */
static double counted(struct perf_event *e, const struct reading *now, bool multiplex)
{
	const struct reading task = { now->value - e->before.value,
				      now->enabled - e->before.enabled,
				      now->running - e->before.running };
	const double known = extrapolated(&e->measured);

	if (!is_read(&e->before) || !is_read(now))
		return NAN;
	if (!multiplex)
		return task.running == task.enabled ? (double)task.value : NAN;
	if (!e->measured.running && !task.running)
		return NAN;
	e->measured.value += task.value;
	e->measured.enabled += task.enabled;
	e->measured.running += task.running;
	return extrapolated(&e->measured) - known;
}

static void perf_read(void *set, bool after, double *value)
{
	struct perf_set *s = set;

	for (unsigned i = 0; i < s->n; i++) {
		struct perf_event *e = &s->of[i];
		const struct reading now = reading(e->file);

		if (after)
			value[e->index] = counted(e, &now, s->multiplex) * e->factor;
		else
			e->before = now;
	}
}

const struct provider perf_software = { "perf",	    NULL,      NULL, software_find,
					perf_start, perf_read, NULL, perf_stop };
const struct provider perf_hardware = { "perf",	    NULL,      NULL, hardware_find,
					perf_start, perf_read, NULL, perf_stop };
