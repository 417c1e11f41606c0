/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arithmetic.h"
#include "base/sysfs.h"
#include "count/perf_names.h"
#include "count/perf_open.h"
#include "count/perfctr.h"
#include "machine/threads/affinity.h"

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
 * How we know that LIKWID has the processor's counters; NULL: it has not. likwid-perfctr sets a
 * variable only with -m.
 */
static const char *owner(void)
{
	return perfctr_asked()	      ? "LIKWID_MODE is set"
	       : started_by_perfctr() ? "it started us"
				      : NULL;
}

int perf_open(const struct wanted *w)
{
	int file;

	if (w->type == PERF_TYPE_SOFTWARE) {
		file = open_event(w, true);
		return file < 0 && !(w->code & PERF_INSIDE) ? open_event(w, false) : file;
	}
	if (!owner())
		return open_event(w, false);
	errno = EBUSY;
	return -1;
}

static const struct wanted cycles = { .type = PERF_TYPE_HARDWARE,
				      .code = PERF_COUNT_HW_CPU_CYCLES };

/* The kernel's setting, from -1 (nothing is forbidden); -2 where it can't be read. */
static int paranoid(void)
{
	char *line = sysfs_line(THIS_MACHINE, "/proc/sys/kernel/perf_event_paranoid"), *end;
	long level = line ? strtol(line, &end, 10) : -2;

	if (line && (end == line || *end))
		level = -2;
	free(line);
	return (int)level;
}

/* perf_event_paranoid allows it up to `highest`: at such a level something else forbids it. */
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

void perf_explain_uncore(struct reason *why)
{
	forbidden(0, 0, why);
}

/*
 * perf_event_paranoid hides the kernel from 2 on, and everything from 3 on; a container may forbid
 * everything at any level.
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
		because(why, "this kernel does not count it");
	} else if (w == &cycles) {
		because(why, "no PMU (hidden by the host, or unknown to this kernel)");
		remedied(why, "# in a virtual machine, ask who runs its host for a virtual PMU "
			      "(QEMU: -cpu host,pmu=on); in a cloud, take a metal type");
	} else if (!perf_no_hardware(why)) { /* else the reason is that */
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
 * LIKWID writes the counters' registers behind the kernel's back, or has the kernel count and does
 * not ask for how long it did: neither would notice a second owner.
 */
bool perf_owned(struct reason *why)
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
	if (perf_owned(why))
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

void perf_explain(const struct wanted *w, int error, struct reason *why)
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

void perf_explain_taken(struct reason *why)
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
