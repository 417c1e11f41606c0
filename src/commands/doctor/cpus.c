/* SPDX-License-Identifier: Apache-2.0 */
/* The CPUs that this process may use, and what else runs on them. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arithmetic.h"
#include "base/sysfs.h"
#include "commands/doctor/doctor.h"
#include "machine/clock.h"
#include "machine/limits/limits.h"
#include "machine/topology/topology.h"
#include "machine/usage.h"

#define CPUS "/sys/devices/system/cpu"

#define WATCHED 0.2 /* s that the load is watched: 20 ticks of /proc/stat */
#define BUSY	0.1 /* CPUs busy with other work from which it is a problem: two of these ticks */

void check_load(const struct patient *p, struct finding *f)
{
	const struct timespec pause = { 0, WATCHED * 1e9 };
	struct cpu_time before, after;
	int *cpus = calloc(p->machine->cpus + 1, sizeof(*cpus));
	unsigned n = p->machine->cpus;
	double begin = clock_now(), busy, steal;
	char *average = sysfs_line(p->root, "/proc/loadavg");

	for (unsigned i = 0; cpus && i < n; i++)
		cpus[i] = p->machine->cpu[i].number;
	if (!cpus || cpu_time_read(cpus, n, &before)) {
		finding_set(f, FINDING_UNKNOWN, "/proc/stat can't be read");
		goto out;
	}
	nanosleep(&pause, NULL);
	if (cpu_time_read(cpus, n, &after)) {
		finding_set(f, FINDING_UNKNOWN, "/proc/stat can't be read");
		goto out;
	}
	busy = (after.busy - before.busy) / (clock_now() - begin);
	steal = (after.steal - before.steal) / (clock_now() - begin);
	finding_set(
		f, busy + steal >= BUSY ? FINDING_WRONG : FINDING_GOOD,
		"%.1f of %u CPUs busy, %.1f stolen by the host, while we slept; load average %.*s",
		busy, n, steal, average ? (int)strcspn(average, " ") : 1, average ? average : "?");
out:
	free(cpus);
	free(average);
}

/* Adds CPUs that are present but offline: by the switch for SMT, or one by one. */
static void add_offline(const struct patient *p, hwloc_const_bitmap_t online, struct finding *f)
{
	hwloc_bitmap_t offline = sysfs_list(p->root, CPUS "/present");
	char *smt = sysfs_line(p->root, CPUS "/smt/control"), list[120];
	const bool siblings = smt && (!strcmp(smt, "off") || !strcmp(smt, "forceoff"));
	const size_t used = strlen(f->found);
	bool one;

	free(smt);
	if (offline)
		hwloc_bitmap_andnot(offline, offline, online);
	if (!offline || hwloc_bitmap_iszero(offline)) {
		hwloc_bitmap_free(offline);
		return;
	}
	one = hwloc_bitmap_weight(offline) == 1;
	hwloc_bitmap_list_snprintf(list, sizeof(list), offline);
	hwloc_bitmap_free(offline);
	snprintf(f->found + used, sizeof(f->found) - used, "; CPU%s %s %s offline%s",
		 one ? "" : "s", list, one ? "is" : "are", siblings ? " (SMT is off)" : "");
	if (siblings)
		return;
	f->state = FINDING_MISSING;
	finding_mend(f, "sudo chcpu -e %s", list);
}

void check_cpus(const struct patient *p, struct finding *f)
{
	hwloc_bitmap_t online = sysfs_list(p->root, CPUS "/online");
	int all = online ? hwloc_bitmap_weight(online) : -1;
	const bool ours = all >= 0 && p->machine->cpus >= (unsigned)all;

	if (all < 0)
		finding_set(f, FINDING_UNKNOWN, CPUS "/online: %s", strerror(errno));
	else if (ours)
		finding_set(f, FINDING_GOOD, "all %d CPUs may be used", all);
	else
		finding_set(f, FINDING_MISSING, "%u of %d CPUs may be used", p->machine->cpus, all);
	if (online)
		add_offline(p, online, f);
	hwloc_bitmap_free(online);
}

void check_quota(const struct patient *p, struct finding *f)
{
	struct cgroup c;

	cgroup_read(p->root, &c);
	if (isfinite(c.cpu_quota))
		finding_set(f, FINDING_WRONG, "%.3g CPUs", c.cpu_quota);
	else
		finding_set(f, FINDING_GOOD, c.version ? "none" : "none that can be seen");
	cgroup_free(&c);
}

void check_smt(const struct patient *p, struct finding *f)
{
	unsigned most = 0;

	for (unsigned i = 0; i < p->machine->cpus; i++)
		if (p->machine->cpu[i].sibling > most)
			most = p->machine->cpu[i].sibling;
	finding_set(f, FINDING_GOOD,
		    most ? "%u hardware threads a core; by default one of them is used"
			 : "one hardware thread a core",
		    most + 1);
}

void check_isolated(const struct patient *p, struct finding *f)
{
	char *isolated = sysfs_line(p->root, CPUS "/isolated"),
	     *tickless = sysfs_line(p->root, CPUS "/nohz_full");
	bool none = !tickless || strstr(tickless, "null"); /* some kernels print "(null)" */

	finding_set(f, sysfs_hidden(p->root, CPUS) ? FINDING_UNKNOWN : FINDING_GOOD,
		    "isolated: %.80s; without tick (nohz_full): %.80s",
		    isolated ? isolated : "none", none ? "none" : tickless);
	free(isolated);
	free(tickless);
}

void check_mitigations(const struct patient *p, struct finding *f)
{
	static const char *const names[] = { "meltdown", "spectre_v2", "spec_store_bypass",   "mds",
					     "l1tf",	 "retbleed",   "spec_rstack_overflow" };
	char text[sizeof(f->found)] = "";
	unsigned known = 0;

	for (unsigned i = 0; i < LENGTH(names); i++) {
		char *line = sysfs_line(p->root, CPUS "/vulnerabilities/%s", names[i]);
		size_t used = strlen(text);

		known += line != NULL;
		if (line && !strncmp(line, "Mitigation", 10))
			snprintf(text + used, sizeof(text) - used, "%s%s", used ? ", " : "",
				 names[i]);
		free(line);
	}
	finding_set(f, known ? FINDING_GOOD : FINDING_UNKNOWN, "%s%s",
		    known ? "mitigated: " : "the kernel does not say",
		    !known  ? ""
		    : *text ? text
			    : "none");
}
