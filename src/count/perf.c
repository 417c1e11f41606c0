/* SPDX-License-Identifier: Apache-2.0 */
#include "count/perf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arithmetic.h"
#include "base/sysfs.h"
#include "count/likwid.h"
#include "machine/threads/affinity.h"

/* Opens events, and explains why one can't be opened. */

#define WHO_COUNTS "pgrep -a 'perf|likwid|papi|pmda' # who?"

static int open_event(const struct wanted *w, bool in_kernel)
{
	struct perf_event_attr attributes = {
		.type = (uint32_t)w->type,
		.size = sizeof(attributes),
		.config =
			w->type == PERF_TYPE_SOFTWARE ? w->code & ~(uint64_t)PERF_INSIDE : w->code,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.exclude_kernel = !in_kernel,
		.exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/*
 * The evidence that LIKWID owns the processor's counters; NULL: none. likwid-perfctr sets
 * LIKWID_MODE only with -m.
 */
static const char *likwid_sign(void)
{
	return perfctr_asked()	       ? "LIKWID_MODE is set"
	       : affinity_by_perfctr() ? "it started locus"
				       : NULL;
}

int perf_open(const struct wanted *w)
{
	int file;

	if (w->type == PERF_TYPE_SOFTWARE) {
		file = open_event(w, true);
		return file < 0 && !(w->code & PERF_INSIDE) ? open_event(w, false) : file;
	}
	if (!likwid_sign())
		return open_event(w, false);
	errno = EBUSY;
	return -1;
}

static const struct wanted cycles = { .type = PERF_TYPE_HARDWARE,
				      .code = PERF_COUNT_HW_CPU_CYCLES };

/* perf_event_paranoid, from -1 (allows everything); -2: unknown. */
static int paranoid(void)
{
	char *line = sysfs_line(SYSFS_ROOT, "/proc/sys/kernel/perf_event_paranoid"), *end;
	long level = line ? strtol(line, &end, 10) : -2;

	if (line && (end == line || *end))
		level = -2;
	free(line);
	return (int)level;
}

/*
 * Explains a refusal: perf_event_paranoid if it is above `highest`, else something else. `enough`
 * is the level to suggest.
 */
static void forbidden(int highest, int enough, struct reason *why)
{
	int level = paranoid();

	if (level > highest) {
		reason_set(why, "forbidden by perf_event_paranoid=%d", level);
		reason_set_remedy(
			why,
			"sudo sysctl kernel.perf_event_paranoid=%d # in a container: --cap-add "
			"PERFMON",
			enough);
	} else {
		reason_set(why, "forbidden, perhaps by seccomp (container): "
				"perf_event_paranoid allows it");
		reason_set_remedy(why,
				  "docker run --cap-add PERFMON ... # or another seccomp profile");
	}
}

void perf_explain_uncore(struct reason *why)
{
	forbidden(0, 0, why);
}

/*
 * perf_event_paranoid forbids counting in the kernel from level 2 on, and all counting from level 3
 * on; a container may forbid all counting at any level.
 */
static void forbidden_event(const struct wanted *w, struct reason *why)
{
	bool inside = w->type == PERF_TYPE_SOFTWARE && w->code & PERF_INSIDE;
	int file = inside ? open_event(w, false) : -1;

	forbidden(file < 0 ? 2 : 1, inside ? 1 : 2, why);
	if (file >= 0)
		close(file);
}

static void uncounted(const struct wanted *w, struct reason *why)
{
	if (w->type == PERF_TYPE_SOFTWARE) {
		reason_set(why, "this kernel does not count it");
	} else if (w == &cycles) {
		reason_set(why, "no PMU (hidden by the hypervisor, or unknown to this kernel)");
		reason_set_remedy(
			why, "# in a virtual machine, ask its host's admin for a virtual PMU "
			     "(QEMU: -cpu host,pmu=on); in a cloud, use a bare-metal instance");
	} else if (!perf_no_hardware(why)) { /* otherwise perf_no_hardware() has set the reason */
		reason_set(why, "this processor counts cycles, but not this");
		reason_set_remedy(why, "perf list hw cache # lists what it counts");
	}
}

static void no_such_call(const struct wanted *w, struct reason *why)
{
	(void)w;
	reason_set(why, "this kernel has no perf_event_open, or hides it");
	reason_set_remedy(why,
			  "docker run --cap-add PERFMON ... # on a kernel with CONFIG_PERF_EVENTS");
}

/*
 * LIKWID writes the counter registers without the kernel's knowledge, or counts by perf_event
 * without reading for how long an event had a counter. Either way it does not notice a second user.
 */
bool perf_owned(struct reason *why)
{
	if (!likwid_sign())
		return false;
	reason_set(why,
		   "likwid-perfctr uses the processor's counters (%s): a second user would spoil "
		   "both counts",
		   likwid_sign());
	reason_set_remedy(why,
			  "likwid-perfctr -g GROUP ... # let it count; or run locus without it");
	return true;
}

static void owned(const struct wanted *w, struct reason *why)
{
	(void)w;
	if (perf_owned(why))
		return;
	reason_set(why, "another process has exclusive use of the processor's counters");
	reason_set_remedy(why, WHO_COUNTS);
}

static const struct cause {
	int error; /* of perf_event_open() */
	void (*explain)(const struct wanted *, struct reason *);
} causes[] = {
	{ EACCES, forbidden_event }, { EPERM, forbidden_event }, { ENOENT, uncounted },
	{ ENODEV, uncounted },	     { EOPNOTSUPP, uncounted },	 { EINVAL, uncounted },
	{ ENOSYS, no_such_call },    { EBUSY, owned },
};

/* Why perf_open() failed with this errno. */
static void perf_explain(const struct wanted *w, int error, struct reason *why)
{
	if (reason_too_few_files(error, why))
		return;
	for (size_t i = 0; i < LENGTH(causes); i++) {
		if (causes[i].error == error) {
			causes[i].explain(w, why);
			return;
		}
	}
	reason_set(why, "perf_event_open: %s", strerror(error));
}

static bool unopened(const struct wanted *w, struct reason *why)
{
	int file = perf_open(w);

	if (file < 0)
		perf_explain(w, errno, why);
	else
		close(file);
	return file < 0;
}

bool perf_no_hardware(struct reason *why)
{
	return unopened(&cycles, why);
}

bool perf_no_software(struct reason *why)
{
	static const struct wanted switches = {
		.type = PERF_TYPE_SOFTWARE, .code = PERF_COUNT_SW_CONTEXT_SWITCHES | PERF_INSIDE
	};

	return unopened(&switches, why);
}

/* Why an event that was opened has no counter. */
static void perf_explain_taken(struct reason *why)
{
	uint64_t watchdog;

	if (!sysfs_number(SYSFS_ROOT, &watchdog, "/proc/sys/kernel/nmi_watchdog") && watchdog) {
		reason_set(why, "no counter is free, and the NMI watchdog uses one");
		reason_set_remedy(why, "sudo sysctl kernel.nmi_watchdog=0");
	} else {
		reason_set(why, "no counter is free: another process counts on this whole CPU");
		reason_set_remedy(why, WHO_COUNTS);
	}
}

/* --- sets of events --- */

/* As read() returns it: a count, and for how many ns the event was enabled and on a counter. */
struct reading {
	uint64_t value, enabled, running;
};

/*
 * Each event is read separately. One call could read a group (PERF_FORMAT_GROUP, as PAPI does),
 * with as many descriptors; but a group gets all of its counters or none: one event without a
 * counter would leave all without a value, and multiplexed events cannot be grouped.
 */
struct perf_event {
	int file;
	unsigned index;
	double factor;
	struct reading before; /* at the start of the task */
	/* multiplexed: summed over all tasks since it first had a counter */
	struct reading measured;
};

struct perf_set {
	bool multiplex;
	unsigned n;
	struct perf_event of[];
};

/* A failed reading is marked by running > enabled. */
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
	struct perf_event e = { .file = perf_open(w), .index = w->index, .factor = w->factor };

	if (e.file < 0)
		return false;
	s->of[s->n++] = e;
	return true;
}

/* The first event that can't be read, or lacks a counter; n: none. */
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
		reason_set(why, "no memory");
		return NULL;
	}
	s->multiplex = multiplex;
	while (s->n < n && perf_add(s, w[s->n]))
		;
	if (s->n < n) {
		perf_explain(w[s->n], errno, why);
		*failed = w[s->n];
	} else if ((idle = first_idle(s)) < n) {
		perf_explain_taken(why);
		*failed = w[idle];
	} else {
		*failed = NULL;
		return s;
	}
	perf_stop(s);
	return NULL;
}

/* The count, scaled to the time that the event was enabled. */
static double extrapolated(const struct reading *r)
{
	return r->running ? (double)r->value * ((double)r->enabled / (double)r->running) : 0;
}

/*
 * The count of a task; NAN: unknown. Multiplexed: the change of the estimate for all tasks. Since
 * tasks are shorter than turns, only the sum over tasks is meaningful, and one task's count may be
 * negative. It is unknown before the event's first turn.
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

const struct provider perf_software = { .source = "perf",
					.find = perf_software_find,
					.start = perf_start,
					.read = perf_read,
					.stop = perf_stop,
					.names = perf_names };
const struct provider perf_hardware = { .source = "perf",
					.find = perf_hardware_find,
					.start = perf_start,
					.read = perf_read,
					.stop = perf_stop };
