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
 * The evidence that LIKWID owns the processor's counters; NULL: none. likwid-perfctr sets
 * LIKWID_MODE only with -m.
 */
static const char *likwid_sign(void)
{
	return perfctr_asked()	       ? "LIKWID_MODE is set"
	       : affinity_by_perfctr() ? "it started us"
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
	} else if (!perf_no_hardware(why)) { /* else perf_no_hardware() has set the reason */
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
	reason_set(
		why,
		"likwid-perfctr has the processor's counters (%s): with two users both would count "
		"wrong",
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

void perf_explain(const struct wanted *w, int error, struct reason *why)
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

void perf_explain_taken(struct reason *why)
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
