/* SPDX-License-Identifier: Apache-2.0 */
/* Counters: which events can be counted. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arithmetic.h"
#include "base/sysfs.h"
#include "commands/doctor/doctor.h"
#include "count/counters.h"
#include "count/likwid.h"
#include "count/papi.h"
#include "count/perf.h"

void check_schedstat(const struct patient *p, struct finding *f)
{
	char *line = sysfs_line(p->root, "/proc/self/schedstat");
	unsigned long long ran, waited, slices;

	if (!line || sscanf(line, "%llu %llu %llu", &ran, &waited, &slices) != 3)
		finding_set(f, FINDING_MISSING, "/proc/self/schedstat is not there");
	else
		finding_set(f, ran ? FINDING_GOOD : FINDING_MISSING, "%s",
			    ran ? "kept" : "all zero: the kernel does not keep it");
	free(line);
}

void check_paranoid(const struct patient *p, struct finding *f)
{
	char *line = sysfs_line(p->root, "/proc/sys/kernel/perf_event_paranoid"), *end;
	long level = line ? strtol(line, &end, 10) : 0;
	struct reason why;
	/* With CAP_PERFMON the kernel ignores the level; PAPI looks only at the level. */
	bool allowed = level > 2 && !strcmp(p->root, SYSFS_ROOT) && !perf_no_software(&why);

	if (!line || end == line || *end)
		finding_set(f, FINDING_UNKNOWN, "perf_event_paranoid can't be read");
	else
		finding_set(f, level > 2 ? FINDING_MISSING : FINDING_GOOD, "%ld%s", level,
			    allowed	? ": the kernel allows counting, but PAPI refuses"
			    : level > 2 ? ": nothing is counted"
			    : level > 1
				    ? ": users may count only their own processes, in user space"
				    : "");
	free(line);
}

void check_watchdog(const struct patient *p, struct finding *f)
{
	uint64_t on;

	if (sysfs_number(p->root, &on, "/proc/sys/kernel/nmi_watchdog"))
		finding_set(f,
			    sysfs_hidden(p->root, "/proc/sys/kernel") ? FINDING_UNKNOWN
								      : FINDING_GOOD,
			    "not in this kernel, or hidden");
	else
		finding_set(f, on ? FINDING_MISSING : FINDING_GOOD, on ? "on" : "off");
}

/* Counts events that most processors have: which of them work, and how many passes they take. */
void check_pmu(const struct patient *p, struct finding *f)
{
	static const char *const names[] = { "perf::CYCLES",	      "perf::INSTRUCTIONS",
					     "perf::BRANCH-MISSES",   "perf::CACHE-MISSES",
					     "perf::LLC-LOAD-MISSES", "perf::DTLB-LOAD-MISSES" };
	const size_t prefix = strlen("perf::");
	char counted[128] = "", silent[128] = "";
	struct counters *c;
	struct reason why;

	(void)p;
	if (perf_no_hardware(&why)) {
		finding_set(f, FINDING_MISSING, "%s", why.what);
		finding_mend(f, "%s", why.remedy);
		return;
	}
	c = counters_open(names, LENGTH(names), false);
	for (unsigned i = 0; c && i < LENGTH(names); i++) {
		const struct event *e = counters_event(c, i);
		char *list = e->proven ? counted : silent;
		size_t used = strlen(list);

		if (e->source)
			snprintf(list + used, sizeof(counted) - used, "%s%s", used ? ", " : "",
				 names[i] + prefix);
	}
	finding_set(f, *counted ? FINDING_GOOD : FINDING_MISSING, "%s, in %u pass%s%s%s",
		    *counted ? counted : "no event counts", c ? counters_passes(c) : 0,
		    c && counters_passes(c) == 1 ? "" : "es",
		    *silent ? "; accepted, but always zero: " : "", silent);
	counters_close(c);
}

void check_software(const struct patient *p, struct finding *f)
{
	struct reason why;

	(void)p;
	if (!perf_no_software(&why)) {
		finding_set(f, FINDING_GOOD, "faults, switches and migrations can be counted");
		return;
	}
	finding_set(f, FINDING_MISSING, "%s", why.what);
	finding_mend(f, "%s", why.remedy);
}

void check_papi(const struct patient *p, struct finding *f)
{
	struct reason why;
	char version[32];
	unsigned presets = papi_presets(version, &why);

	(void)p;
	/* without a PMU, too, PAPI knows presets of some processors */
	if (presets && !perf_no_hardware(&why)) {
		finding_set(f, FINDING_GOOD, "%s; %u of its presets can be counted: papi_avail -a",
			    version, presets);
		return;
	}
	finding_set(f, FINDING_MISSING, "%s%s%.200s", version, *version ? ": " : "", why.what);
	finding_mend(f, "%s", why.remedy);
}

/* ---- LIKWID: whether likwid-perfctr can count regions ---- */

#if defined(__x86_64__)
enum { BY_REGISTERS = true };
#else
enum { BY_REGISTERS = false };
#endif

static int may(const char *root, const char *file, int mode)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s", root, file);
	return access(path, mode);
}

/* LIKWID's daemon, which reads the registers for users without permission. */
static bool has_daemon(const char *root)
{
	static const char *const daemons[] = { "/usr/sbin/likwid-accessD",
					       "/usr/local/sbin/likwid-accessD",
					       "/usr/bin/likwid-accessD" };

	for (size_t i = 0; i < sizeof(daemons) / sizeof(*daemons); i++)
		if (!may(root, daemons[i], X_OK))
			return true;
	return false;
}

static void judge_registers(const char *library, const char *root, struct finding *f)
{
	const char *const file = "/dev/cpu/0/msr";

	if (!may(root, file, R_OK | W_OK)) {
		finding_set(f, FINDING_GOOD, "%s; this user may read %s", library, file);
	} else if (errno == ENOENT) {
		finding_set(f, FINDING_MISSING,
			    "%s, but no %s, which likwid-perfctr needs unless built for perf_event",
			    library, file);
		finding_mend(f, "sudo modprobe msr");
	} else if (has_daemon(root)) {
		finding_set(f, FINDING_GOOD, "%s; likwid-accessD reads %s", library, file);
	} else {
		finding_set(f, FINDING_MISSING,
			    "%s, but this user may use neither %s nor likwid-accessD", library,
			    file);
		finding_mend(f, "sudo chown root /usr/sbin/likwid-accessD && sudo chmod u+s "
				"/usr/sbin/likwid-accessD");
	}
}

void judge_likwid(const struct likwid_found *l, const char *root, struct finding *f)
{
	if (!l->library) {
		finding_set(f, FINDING_MISSING, "%s", l->why);
		finding_mend(f, "%s",
			     l->registers
				     ? "sudo apt-get install likwid # Fedora: likwid, Spack: likwid"
				     : "spack install likwid # it counts by perf_event; Debian and "
				       "Ubuntu have LIKWID for x86 alone");
	} else if (l->registers) {
		judge_registers(l->library, root, f);
	} else {
		finding_set(f, FINDING_GOOD, "%s; likwid-perfctr counts by perf_event_open",
			    l->library);
	}
}

void check_likwid(const struct patient *p, struct finding *f)
{
	char *why, *library = likwid_available(&why);
	const struct likwid_found found = { library, why ? why : strerror(ENOMEM), BY_REGISTERS };

	judge_likwid(&found, p->root, f);
	free(library);
	free(why);
}
