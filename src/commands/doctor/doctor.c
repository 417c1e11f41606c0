/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/message.h"
#include "base/sysfs.h"
#include "base/text.h"
#include "commands/commands.h"
#include "commands/doctor/doctor.h"
#include "harness/ask/options.h"
#include "machine/topology/topology.h"

static const struct check {
	const char *name, *why;
	void (*look)(const struct patient *, struct finding *);
	const char *remedy;
	bool live; /* tries something instead of reading files: on this machine only */
} checks[] = {
	{ "load", "other work on the same CPUs makes samples longer", check_load,
	  "ps -eo pcpu,pid,user,comm --sort=-pcpu | head", true },
	{ "governor", "the clock follows the load: the first work runs slower", check_governor,
	  "sudo cpupower frequency-set --governor performance", false },
	{ "turbo", "the clock depends on heat and on how many cores are busy", check_turbo, NULL,
	  false },
	{ "clock source", "reading the clock is slow, or leaves the process", check_clock_source,
	  "sudo dmesg | grep -i tsc # says why it is not used", false },
	{ "virtual machine", "the host may migrate vCPUs and steal time: compare ratios",
	  check_virtual, NULL, false },
	{ "CPUs", "layouts and default numbers of threads use only these", check_cpus,
	  "taskset -c \"$(cat /sys/devices/system/cpu/online)\" locus ... # SLURM: --exclusive",
	  false },
	{ "NUMA nodes", "trials that need all nodes are impossible", check_nodes,
	  "sbatch --exclusive --mem=0 ... # by hand: cpuset.mems of the cgroup", false },
	{ "memory policy", "trials can't place data on every node", check_policy,
	  "numactl --localalloc locus ... # SLURM: srun --mem-bind=none", false },
	{ "CPU quota", "the kernel stops the process when its share is used up", check_quota,
	  "sbatch --exclusive ... # by hand: raise cpu.max (cpu.cfs_quota_us) of the cgroup",
	  false },
	{ "hardware threads", "siblings share a core", check_smt, NULL, false },
	{ "hidden siblings", "two threads share one core: false sharing looks free there",
	  check_siblings,
	  "locus ... --bind 0 # uses one of the two; or ask the host for whole cores", true },
	{ "this core", "loops are slower while another hardware thread works on their core",
	  check_crowd, "# ask the host for whole cores: a guest can't see or stop other guests",
	  true },
	{ "isolated CPUs", "free of other work, and used only when named", check_isolated, NULL,
	  false },
	{ "memory", "larger data don't fit on that node", check_memory,
	  "sync && echo 3 | sudo tee /proc/sys/vm/drop_caches", false },
	{ "memory limit", "sizes beyond it are impossible", check_memory_limit,
	  "sbatch --mem=0 ... # by hand: raise memory.max (memory.limit_in_bytes) of the cgroup",
	  false },
	{ "transparent pages", "pages=thp is impossible", check_thp, NULL, false },
	{ "hugetlb pages", "pages=2M or pages=1G is impossible", check_huge_pages, NULL, false },
	{ "NUMA balancing", "the kernel moves pages while they are measured", check_balancing,
	  "sudo sysctl kernel.numa_balancing=0", false },
	{ "swap", "pages may have to come back from disk", check_swap,
	  "sudo swapoff -a && sudo swapon -a", false },
	{ "move_pages", "placement can't be verified page by page, nor pages migrated",
	  check_move_pages, "docker run --cap-add SYS_NICE ... # seccomp forbids it", true },
	{ "locked memory", "MPI over InfiniBand and counters may fail", check_memlock,
	  "ulimit -l unlimited", false },
	{ "schedstat", "waiting for a CPU can't be distinguished from running", check_schedstat,
	  NULL, false },
	{ "perf_event_paranoid", "counters are forbidden, or PAPI believes so", check_paranoid,
	  "sudo sysctl kernel.perf_event_paranoid=1", false },
	{ "NMI watchdog", "it takes one of the processor's counters", check_watchdog,
	  "sudo sysctl kernel.nmi_watchdog=0", false },
	{ "hardware counters", "no cycles, misses or bandwidth beside the times", check_pmu, NULL,
	  true },
	{ "software counters",
	  "no perf:: software events; the kernel counters (context-switches, ...) remain",
	  check_software, NULL, true },
	{ "PAPI", "no counters through PAPI", check_papi, NULL, true },
	{ "LIKWID", "no counters of regions by likwid-perfctr", check_likwid, NULL, true },
	{ "mitigations", "they lengthen system calls and indirect branches", check_mitigations,
	  NULL, false },
	{ "Python", "locus report does not work", check_python, NULL, true },
};

enum { COLUMN = 26 }; /* where findings are printed */

/* "COMMAND # COMMENT", either of which may be missing; both in one line if they fit. */
static void print_remedy(FILE *out, const char *remedy)
{
	const char *comment = *remedy == '#' ? remedy : strstr(remedy, " # ");
	char head[COLUMN + 3], *command;

	snprintf(head, sizeof(head), "%*s$ ", COLUMN, "");
	if (!comment ||
	    (comment != remedy && strlen(head) + strlen(remedy) <= (size_t)message_width(out))) {
		message_command(head, remedy, COLUMN + 4, out);
		return;
	}
	command = strndup(remedy, (size_t)(comment - remedy));
	if (command && *command)
		message_command(head, command, COLUMN + 4, out);
	head[COLUMN] = 0;
	message_row(head, comment + strspn(comment, " #"), COLUMN, out);
	free(command);
}

static void print(FILE *out, const struct check *c, const struct finding *f)
{
	static const char *const words[FINDING_STATES] = { "[ok]", "[!!]", "[--]", "[??]" };
	const char *remedy = *f->remedy ? f->remedy : c->remedy;
	char head[COLUMN + 1];

	snprintf(head, sizeof(head), "%s %-20s ", words[f->state], c->name);
	message_row(head, f->found, COLUMN, out);
	if (f->state != FINDING_WRONG && f->state != FINDING_MISSING)
		return;
	snprintf(head, sizeof(head), "%*s", COLUMN, "");
	message_row(head, c->why, COLUMN, out);
	if (remedy)
		print_remedy(out, remedy);
}

int doctor_row(unsigned row, const char *root, const struct machine *machine, FILE *out)
{
	const struct patient patient = { root, machine };
	struct finding f = { .state = FINDING_UNKNOWN };

	if (row >= LENGTH(checks))
		return -1;
	if (checks[row].live && strcmp(root, SYSFS_ROOT))
		finding_set(&f, FINDING_UNKNOWN, "not this machine");
	else
		checks[row].look(&patient, &f);
	print(out, &checks[row], &f);
	fflush(out);
	return (int)f.state;
}

int doctor_at(const char *root, const struct machine *machine, FILE *out)
{
	unsigned count[FINDING_STATES] = { 0 };

	for (unsigned i = 0; i < LENGTH(checks); i++)
		count[doctor_row(i, root, machine, out)]++;
	fprintf(out, "%s [!!], %s missing [--], %u unknown [??]\n",
		text_count(count[FINDING_WRONG], "problem").of,
		text_count(count[FINDING_MISSING], "optional feature").of, count[FINDING_UNKNOWN]);
	return fflush(out) || ferror(out) || count[FINDING_WRONG] ? 1 : 0;
}

int doctor(const struct machine *machine, FILE *out)
{
	return doctor_at(SYSFS_ROOT, machine, out);
}

int doctor_command(const struct program *p, int argc, char **argv)
{
	struct machine *m;
	int status;

	(void)p;
	if (refuse_arguments(argc, argv, 0))
		return EXIT_COMMAND_LINE;
	m = command_machine(NULL, &status);
	if (!m)
		return status;
	status = doctor(m, stdout);
	machine_close(m);
	return status;
}
