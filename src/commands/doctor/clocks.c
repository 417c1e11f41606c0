/* SPDX-License-Identifier: Apache-2.0 */
/* Causes of varying times: the CPUs' frequency, the clock, a host that shares its CPUs. */
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/sysfs.h"
#include "commands/doctor/doctor.h"
#include "machine/provenance/provenance.h"
#include "machine/topology/topology.h"

#define CPUS "/sys/devices/system/cpu"

void check_governor(const struct patient *p, struct finding *f)
{
	unsigned others = 0, known = 0;
	char other[32] = "";

	for (unsigned i = 0; i < p->machine->cpus; i++) {
		char *governor = sysfs_line(p->root, CPUS "/cpu%d/cpufreq/scaling_governor",
					    p->machine->cpu[i].number);

		known += governor != NULL;
		if (governor && strcmp(governor, "performance")) {
			others++;
			snprintf(other, sizeof(other), "%s", governor);
		}
		free(governor);
	}
	if (!known)
		finding_set(f, FINDING_UNKNOWN, "no cpufreq here: firmware or host decides");
	else if (others)
		finding_set(f, FINDING_WRONG, "%s on %u of %u CPUs", other, others, known);
	else
		finding_set(f, FINDING_GOOD, "performance");
}

void check_turbo(const struct patient *p, struct finding *f)
{
	const char *source;
	int turbo = provenance_turbo(p->root, &source);

	if (turbo < 0) {
		finding_set(f, FINDING_UNKNOWN, "unknown to the kernel: firmware or host decides");
		return;
	}
	finding_set(f, turbo ? FINDING_WRONG : FINDING_GOOD, turbo ? "on" : "off");
	finding_mend(f, "echo %d | sudo tee %s", strstr(source, "no_turbo") ? 1 : 0, source);
}

void check_clock_source(const struct patient *p, struct finding *f)
{
	static const char *const good[] = { "tsc", "arch_sys_counter", "timebase",
					    "riscv_clocksource" };
	char *source = sysfs_line(
		p->root, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
	char *others = sysfs_line(
		p->root, "/sys/devices/system/clocksource/clocksource0/available_clocksource");
	bool fine = false;

	for (unsigned i = 0; source && i < LENGTH(good); i++)
		fine |= !strcmp(source, good[i]);
	finding_set(f,
		    !source ? FINDING_UNKNOWN
		    : fine  ? FINDING_GOOD
			    : FINDING_WRONG,
		    "%s", source ? source : "the kernel does not say");
	if (others && strstr(others, "tsc"))
		finding_mend(f, "echo tsc | sudo tee "
				"/sys/devices/system/clocksource/clocksource0/current_clocksource");
	free(source);
	free(others);
}

void check_virtual(const struct patient *p, struct finding *f)
{
	bool known;
	const char *hypervisor = provenance_hypervisor(p->root, &known);

	if (hypervisor)
		finding_set(f, FINDING_WRONG, "a guest of %s",
			    strcmp(hypervisor, "unknown") ? hypervisor : "an unknown hypervisor");
	else
		finding_set(f, known ? FINDING_GOOD : FINDING_UNKNOWN, "%s",
			    known ? "no" : "neither the CPU nor the firmware tells");
}
