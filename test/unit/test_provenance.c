/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine in the record's header, read from a folder with files of real machines. Each null
 * must have a reason.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/prctl.h>

#include "base/sysfs.h"
#include "records.h"

static const struct file amd_guest[] = {
	{ "/proc/cpuinfo", "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: "
			   "25\nmodel\t\t: 17\nmodel name\t: AMD EPYC 9354 32-Core "
			   "Processor\n"
			   "stepping\t: 1\nmicrocode\t: 0xa101148\nflags\t\t: fpu sse2 hypervisor "
			   "avx2\npower management: ts ttp tm\n" },
	{ CPUS "/cpufreq/boost", "1\n" },
	{ CPUS "/cpu0/acpi_cppc/nominal_freq", "3250\n" },
	{ DMI "/sys_vendor", "QEMU\n" },
	{ DMI "/product_name", "Standard PC (Q35 + ICH9, 2009)\n" },
	{ 0 },
};

#define ARM_CPUINFO(implementer, variant, part, revision)                              \
	"processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd atomics\nCPU "        \
	"implementer\t: " implementer "\nCPU architecture: 8\nCPU variant\t: " variant \
	"\nCPU part\t: " part "\nCPU revision\t: " revision "\n\n"

/* Ampere Altra: vendor and part from /proc/cpuinfo, as it has no midr_el1. */
static const struct file altra[] = {
	{ "/proc/cpuinfo", ARM_CPUINFO("0x41", "0x3", "0xd0c", "1") },
	{ DMI "/sys_vendor", "GIGABYTE\n" },
	{ 0 },
};

static const struct file graviton[] = {
	{ "/proc/cpuinfo", ARM_CPUINFO("0x41", "0x1", "0xd40", "1") },
	{ CPUS "/cpu0/regs/identification/midr_el1", "0x00000000411fd401\n" },
	{ DMI "/sys_vendor", "Amazon EC2\n" },
	{ DMI "/product_name", "c7g.4xlarge\n" },
	{ 0 },
};

static void intel_server(void **state)
{
	json_t *p = provenance_of(intel);
	char *text;

	(void)state;
	assert_string_equal(text_at(p, "cpu.vendor"), "GenuineIntel");
	assert_string_equal(text_at(p, "cpu.model"),
			    "Intel(R) Xeon(R) Platinum 8360Y CPU @ 2.40GHz");
	assert_int_equal(integer_at(p, "cpu.family"), 6);
	assert_int_equal(integer_at(p, "cpu.model_number"), 106);
	assert_int_equal(integer_at(p, "cpu.stepping"), 6);
	assert_string_equal(text_at(p, "cpu.microcode"), "0xd0003b9");
	assert_int_equal(json_array_size(at(p, "cpu.flags")), 5);
	assert_string_equal(json_string_value(json_array_get(at(p, "cpu.flags"), 4)), "avx512f");
	assert_true(json_is_null(at(p, "virtual")));
	assert_null(at(p, "virtual_why"));
	assert_string_equal(text_at(p, "kernel.release"), "5.14.0-427.el9.x86_64");
	assert_string_equal(
		text_at(p, "kernel.command_line"),
		"BOOT_IMAGE=/vmlinuz root=UUID=1 quiet grub_password=<hidden> isolcpus=2-3");
	assert_int_equal(integer_at(p, "numa_balancing"), 1);
	assert_int_equal(integer_at(p, "perf_event_paranoid"), -1);
	assert_int_equal(integer_at(p, "memory.total"), INT64_C(263757000) * 1024);
	assert_int_equal(integer_at(p, "memory.available"), INT64_C(251000000) * 1024);
	assert_string_equal(text_at(p, "memory.thp.enabled"), "always");
	assert_string_equal(text_at(p, "memory.thp.defrag"), "madvise");
	assert_int_equal(integer_at(p, "memory.thp.khugepaged_defrag"), 1);
	assert_true(json_is_true(at(p, "memory.thp.allowed")));
	assert_int_equal(integer_at(json_array_get(at(p, "memory.hugepages"), 0), "total"), 512);
	assert_int_equal(integer_at(json_array_get(at(p, "memory.hugepages"), 0), "free"), 500);
	assert_int_equal(
		json_array_size(at(json_array_get(at(p, "memory.hugepages"), 0), "per_node")), 2);
	assert_string_equal(text_at(p, "frequency.driver"), "intel_pstate");
	assert_string_equal(text_at(p, "frequency.governor"), "powersave,performance");
	assert_int_equal(integer_at(p, "frequency.minimum"), 800000000);
	assert_true(integer_at(p, "frequency.maximum") == INT64_C(3500000000));
	assert_true(integer_at(p, "frequency.base") == INT64_C(2400000000));
	assert_true(json_is_true(at(p, "frequency.turbo")));
	assert_string_equal(text_at(p, "frequency.boost_source"), CPUS "/intel_pstate/no_turbo");
	assert_int_equal(json_object_size(at(p, "mitigations")), 2);
	assert_string_equal(text_at(p, "mitigations.spectre_v2"), "Mitigation: Enhanced IBRS");
	assert_true(json_is_null(at(p, "cgroup.version")));
	assert_non_null(strstr(text_at(p, "libc"), "glibc 2."));
	assert_string_equal(text_at(p, "firmware.bios_version"), "1.8.2");
	assert_string_equal(text_at(p, "firmware.product_name"), "PowerEdge C6520");
	assert_non_null(strstr(text_at(p, "firmware.bios_date_why"), "No such file"));
	assert_non_null(strstr(text_at(p, "memory.modules_why"), "No such file"));
	assert_non_null(strstr(text_at(p, "prefetchers_why"), "/dev/cpu/0/msr: No such file"));
	text = json_dumps(p, 0);
	assert_null(strstr(text, "SECRET7"));
	free(text);
	json_decref(p);
}

static void amd_guest_of_qemu(void **state)
{
	json_t *p = provenance_of(amd_guest);

	(void)state;
	assert_string_equal(text_at(p, "cpu.vendor"), "AuthenticAMD");
	assert_int_equal(integer_at(p, "cpu.family"), 25);
	assert_string_equal(text_at(p, "virtual"), "qemu");
	assert_true(integer_at(p, "frequency.base") == INT64_C(3250000000));
	assert_null(at(p, "frequency.base_why"));
	assert_true(json_is_true(at(p, "frequency.turbo")));
	assert_true(json_is_null(at(p, "frequency.governor")));
	json_decref(p);
}

static void arm_cores_have_names(void **state)
{
	json_t *p = provenance_of(altra);

	(void)state;
	assert_string_equal(text_at(p, "cpu.vendor"), "ARM");
	assert_string_equal(text_at(p, "cpu.model"), "Neoverse N1");
	assert_int_equal(integer_at(p, "cpu.model_number"), 0xd0c);
	assert_string_equal(text_at(p, "cpu.stepping"), "r3p1");
	assert_true(json_is_null(at(p, "cpu.family")));
	assert_true(json_is_null(at(p, "cpu.microcode")));
	assert_int_equal(json_array_size(at(p, "cpu.flags")), 3);
	assert_true(json_is_null(at(p, "virtual")));
	assert_null(at(p, "virtual_why"));
	json_decref(p);

	p = provenance_of(graviton);
	assert_string_equal(text_at(p, "cpu.model"), "Neoverse V1");
	assert_string_equal(text_at(p, "cpu.stepping"), "r1p1");
	assert_string_equal(text_at(p, "virtual"), "kvm");
	json_decref(p);

	put_file(DMI "/product_name", "c7g.metal\n");
	put_file(CPUS "/cpu0/regs/identification/midr_el1", "0x00000000770f0000\n");
	p = provenance_of(NULL);
	assert_true(json_is_null(at(p, "virtual")));
	assert_true(json_is_null(at(p, "cpu.vendor")));
	assert_non_null(strstr(text_at(p, "cpu.model_why"), "implementer 0x77"));
	json_decref(p);
}

static void hypervisors_are_told_apart(void **state)
{
	static const struct {
		const char *flags, *vendor, *product, *found;
		bool known;
	} rows[] = {
		{ "fpu hypervisor", "Xen", "HVM domU", "xen", true },
		{ "fpu hypervisor", "Microsoft Corporation", "Virtual Machine", "hyperv", true },
		{ "fpu hypervisor", "VMware, Inc.", "VMware7,1", "vmware", true },
		{ "fpu hypervisor", "innotek GmbH", "VirtualBox", "virtualbox", true },
		{ "fpu hypervisor", "Nobody", "Nothing", "unknown", true },
		{ "fpu hypervisor", NULL, NULL, "unknown", true },
		{ "fpu hypervisors_friend", "Nobody", "Nothing", NULL, true },
		{ "fpu", "Dell Inc.", "PowerEdge", NULL, true },
		{ "fpu", NULL, NULL, NULL, true },
		{ "fpu", "Red Hat", "KVM", NULL, true }, /* a guest's flags have "hypervisor" */
		{ "fpu", "Xen", "PV domU", "xen", true },
		{ NULL, "Ampere", "Mt. Jade", NULL, true },
		{ NULL, NULL, NULL, NULL, false },
	};

	(void)state;
	for (unsigned i = 0; i < LENGTH(rows); i++) {
		const char *found;
		char text[128];
		bool known;

		snprintf(text, sizeof(text),
			 rows[i].flags ? "flags\t\t: %s avx\n" : "processor\t: 0\n", rows[i].flags);
		put_file("/proc/cpuinfo", text);
		put_file(DMI "/sys_vendor", rows[i].vendor ? rows[i].vendor : "");
		put_file(DMI "/product_name", rows[i].product ? rows[i].product : "");
		found = provenance_hypervisor(root, &known);
		assert_string_equal(found ? found : "none", rows[i].found ? rows[i].found : "none");
		assert_int_equal(known, rows[i].known);
	}
}

static void the_topology_is_told(void **state)
{
	static const struct file files[] = {
		{ CPUS "/online", "0-15\n" },
		{ "/sys/devices/system/node/online", "0-1\n" },
		{ "/sys/devices/system/node/node0/cpulist", "0-7\n" },
		{ "/sys/devices/system/node/node1/cpulist", "\n" },
		{ "/sys/devices/system/node/node0/meminfo",
		  "Node 0 MemTotal: 1048576 kB\nNode 0 MemFree: 524288 kB\n" },
		{ 0 },
	};
	json_t *p = provenance_of(files), *t = at(p, "topology"), *nodes = at(t, "nodes"),
	       *caches = at(t, "caches");

	(void)state;
	assert_int_equal(integer_at(t, "packages"), 2);
	assert_int_equal(integer_at(t, "cores"), 8);
	assert_int_equal(integer_at(t, "cpus"), 16);
	assert_int_equal(integer_at(t, "smt"), 2);
	assert_string_equal(text_at(t, "online"), "0-15");
	assert_string_equal(text_at(t, "allowed"), "0-15");
	assert_int_equal(json_array_size(nodes), 2);
	assert_int_equal(integer_at(json_array_get(nodes, 0), "free"), 524288 * 1024);
	assert_true(json_is_false(at(json_array_get(nodes, 0), "memory_only")));
	assert_true(json_is_null(at(json_array_get(nodes, 1), "free")));
	assert_true(json_is_true(at(json_array_get(nodes, 1), "memory_only")));
	assert_int_equal(json_array_size(at(json_array_get(nodes, 0), "cpus")), 8);
	assert_int_equal(json_array_size(caches), 3);
	assert_int_equal(integer_at(json_array_get(caches, 0), "level"), 1);
	assert_string_equal(text_at(json_array_get(caches, 0), "type"), "data");
	assert_int_equal(integer_at(json_array_get(caches, 0), "size"), 48 << 10);
	assert_int_equal(integer_at(json_array_get(caches, 0), "count"), 8);
	assert_int_equal(integer_at(json_array_get(caches, 0), "shared_by"), 2);
	assert_int_equal(integer_at(json_array_get(caches, 2), "size"), 32 << 20);
	assert_int_equal(integer_at(json_array_get(caches, 2), "shared_by"), 8);
	assert_non_null(strstr(text_at(t, "hwloc"), "L3"));
	assert_int_equal(json_array_size(at(p, "tlb")), 0);
	assert_string_equal(text_at(p, "tlb_why"), "not this machine");
	json_decref(p);
}

/* Writes a CPU's msr file, in which the offset is the number of the register. */
static void put_register(int cpu, uint32_t number, uint64_t value)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/dev/cpu/%d/msr", cpu);
	f = fopen(in_tree(path), "w");
	assert_non_null(f);
	assert_int_equal(fseeko(f, number, SEEK_SET), 0);
	assert_int_equal(fwrite(&value, sizeof(value), 1, f), 1);
	assert_int_equal(fclose(f), 0);
}

static void prefetchers_are_told_where_they_can_be_read(void **state)
{
	static const struct file amd[] = {
		{ "/proc/cpuinfo", "vendor_id\t: AuthenticAMD\nflags\t\t: fpu\n" }, { 0 }
	};
	static const struct file arm[] = {
		{ "/proc/cpuinfo", ARM_CPUINFO("0x41", "0x3", "0xd0c", "1") }, { 0 }
	};
	json_t *p;

	(void)state;
	for (int i = 0; i < 16; i++)
		put_register(i, 0x1a4, 5);
	p = provenance_of(intel);
	assert_string_equal(text_at(p, "prefetchers.register"), "0x1a4");
	assert_string_equal(text_at(p, "prefetchers.value"), "0x5");
	assert_int_equal(json_array_size(at(p, "prefetchers.disabled")), 2);
	assert_string_equal(json_string_value(json_array_get(at(p, "prefetchers.disabled"), 1)),
			    "L1 next line");
	json_decref(p);

	put_register(3, 0x1a4, 0);
	p = provenance_of(NULL);
	assert_string_equal(text_at(p, "prefetchers_why"),
			    "register 0x1a4: CPU 0 has 0x5, CPU 3 has 0x0");
	json_decref(p);

	put_file("/dev/cpu/0/msr", "short");
	p = provenance_of(NULL);
	assert_non_null(strstr(text_at(p, "prefetchers_why"), "/dev/cpu/0/msr: No data"));
	json_decref(p);

	for (int i = 0; i < 16; i++)
		put_register(i, 0xc0000108, 0);
	p = provenance_of(amd);
	assert_string_equal(text_at(p, "prefetchers.value"), "0x0");
	assert_int_equal(json_array_size(at(p, "prefetchers.disabled")), 0);
	json_decref(p);

	p = provenance_of(arm);
	assert_non_null(strstr(text_at(p, "prefetchers_why"), "no register is known"));
	json_decref(p);

	p = provenance_of(amd_guest);
	assert_non_null(strstr(text_at(p, "prefetchers_why"), "virtual machine"));
	json_decref(p);
}

static void nothing_to_read_is_said(void **state)
{
	json_t *p = provenance_of(NULL);

	(void)state;
	assert_true(nulls_say_why(p) > 30);
	assert_non_null(strstr(text_at(p, "kernel.release_why"),
			       "/proc/sys/kernel/osrelease: No such file"));
	assert_non_null(strstr(text_at(p, "mitigations_why"), "No such file"));
	assert_non_null(strstr(text_at(p, "virtual_why"), "neither"));
	json_decref(p);
}

/* Not the errno of a file that was tried before. */
static void the_reason_is_its_own(void **state)
{
	static const struct file files[] = {
		{ "/sys/devices/system/cpu/vulnerabilities", "not a folder" },
		{ 0 },
	};
	json_t *p = provenance_of(files);

	(void)state;
	assert_non_null(strstr(text_at(p, "mitigations_why"), "Not a directory"));
	json_decref(p);
}

static void this_machine_is_described(void **state)
{
	const char *why;
	struct machine *here = machine_open(NULL, &why);
	json_t *p;

	(void)state;
	assert_non_null(here);
	p = provenance_machine(here);
	nulls_say_why(p);
	assert_true(integer_at(p, "memory.total") > 0);
	assert_true(integer_at(p, "topology.cpus") > 0);
	assert_true(json_string_length(at(p, "kernel.release")) > 0);
	assert_true(json_is_array(at(p, "tlb")));
	assert_true((json_array_size(at(p, "tlb")) > 0) == (at(p, "tlb_why") == NULL));
	json_decref(p);
	machine_close(here);
}

static bool may_have_huge_pages(const struct machine *m)
{
	json_t *memory = provenance_memory(SYSFS_ROOT, m);
	const bool may = json_is_true(at(memory, "thp.allowed"));

	nulls_say_why(memory);
	json_decref(memory);
	return may;
}

/* By its parent, as a batch system may do it for its jobs, or by the machine. */
static void a_process_without_huge_pages(void **state)
{
	static const struct file never[] = {
		{ "/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n" },
		{ 0 },
	};
	json_t *p = provenance_of(never);
	const char *why;
	struct machine *here = machine_open(NULL, &why);
	bool may;

	(void)state;
	assert_true(json_is_false(at(p, "memory.thp.allowed")));
	json_decref(p);
	assert_non_null(here);
	may = may_have_huge_pages(here);
	assert_int_equal(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0);
	assert_false(may_have_huge_pages(here));
	prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
	assert_int_equal(may_have_huge_pages(here), may);
	machine_close(here);
}

static void the_environment_keeps_secrets(void **state)
{
	json_t *e;

	(void)state;
	setenv("OMP_PLACES", "cores", 1);
	setenv("SLURM_JWT", "hush", 1);
	setenv("SLURM_SACK_KEY", "hush", 1);
	setenv("LD_PRELOAD_NOT", "no", 1);
	setenv("XOMP_PLACES", "no", 1);
	setenv("LOCUS_TEST", "\xff", 1);
	setenv("MALLOC_ARENA_MAX", "", 1);
	e = provenance_environment();
	assert_string_equal(text_at(e, "OMP_PLACES"), "cores");
	assert_string_equal(text_at(e, "MALLOC_ARENA_MAX"), "");
	assert_true(json_is_null(at(e, "SLURM_JWT")));
	assert_true(json_is_null(at(e, "SLURM_SACK_KEY")));
	assert_string_equal(text_at(e, "LOCUS_TEST"), "\\xff");
	assert_null(at(e, "LD_PRELOAD_NOT"));
	assert_null(at(e, "XOMP_PLACES"));
	assert_null(at(e, "PATH"));
	nulls_say_why(e);
	json_decref(e);
	unsetenv("SLURM_JWT");
	unsetenv("SLURM_SACK_KEY");
	unsetenv("LOCUS_TEST");
}

static void jobs_are_known(void **state)
{
	static const char *const variables[] = { "SLURM_JOB_ID",	"SLURM_ARRAY_TASK_ID",
						 "SLURM_STEP_ID",	"SLURM_RESTART_COUNT",
						 "SLURM_JOB_NUM_NODES", "PBS_JOBID",
						 "SLURM_CLUSTER_NAME",	"SLURM_JOB_PARTITION",
						 "PBS_ARRAY_INDEX",	"LSB_JOBID" };
	json_t *job;

	(void)state;
	for (unsigned i = 0; i < LENGTH(variables); i++)
		unsetenv(variables[i]);
	job = provenance_job();
	assert_true(json_is_null(job));
	json_decref(job);

	setenv("PBS_JOBID", "12.server", 1);
	job = provenance_job();
	assert_string_equal(text_at(job, "system"), "pbs");
	assert_string_equal(text_at(job, "id"), "12.server");
	assert_true(json_is_null(at(job, "step")));
	json_decref(job);

	setenv("SLURM_JOB_ID", "77", 1);
	setenv("SLURM_ARRAY_TASK_ID", "3", 1);
	setenv("SLURM_JOB_NUM_NODES", "2", 1);
	setenv("SLURM_CLUSTER_NAME", "alps", 1);
	setenv("SLURM_JOB_PARTITION", "gpu,cpu", 1);
	job = provenance_job();
	assert_string_equal(text_at(job, "system"), "slurm");
	assert_string_equal(text_at(job, "id"), "77");
	assert_string_equal(text_at(job, "array_task"), "3");
	assert_string_equal(text_at(job, "nodes"), "2");
	assert_string_equal(text_at(job, "cluster"), "alps");
	assert_string_equal(text_at(job, "partition"), "gpu,cpu");
	assert_true(json_is_null(at(job, "restart")));
	json_decref(job);
	unsetenv("PBS_JOBID");
	unsetenv("SLURM_JOB_ID");
	unsetenv("SLURM_CLUSTER_NAME");
	unsetenv("SLURM_JOB_PARTITION");
}

static void the_program_is_described(void **state)
{
	json_t *p = provenance_program();

	(void)state;
	assert_true(json_string_length(at(p, "version")) > 0);
	assert_true(json_string_length(at(p, "compiler")) > 0);
	assert_true(json_string_length(at(p, "flags")) > 0);
	assert_true(json_string_length(at(p, "built_with.hwloc")) > 0);
	assert_true(json_string_length(at(p, "built_with.openmp")) == 6);
	assert_int_equal(strncmp(text_at(p, "checksum"), "build-id:", 9), 0);
	assert_true(json_string_length(at(p, "checksum")) >= 9 + 16);
	assert_int_equal(strspn(text_at(p, "checksum") + 9, "0123456789abcdef"),
			 json_string_length(at(p, "checksum")) - 9);
	nulls_say_why(p);
	json_decref(p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(intel_server),
		TEST(amd_guest_of_qemu),
		TEST(arm_cores_have_names),
		TEST(hypervisors_are_told_apart),
		TEST(the_topology_is_told),
		TEST(prefetchers_are_told_where_they_can_be_read),
		TEST(nothing_to_read_is_said),
		TEST(the_reason_is_its_own),
		cmocka_unit_test(this_machine_is_described),
		TEST(a_process_without_huge_pages),
		cmocka_unit_test(the_environment_keeps_secrets),
		cmocka_unit_test(jobs_are_known),
		cmocka_unit_test(the_program_is_described),
	};

	return cmocka_run_group_tests(tests, open_server, close_machine);
}
