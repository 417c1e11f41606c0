/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system below the program: hypervisor, firmware, kernel, and the frequencies that they allow.
 */
#include "machine/provenance/provenance.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "base/arithmetic.h"
#include "base/hash.h"
#include "base/sysfs.h"
#include "base/utf8.h"
#include "machine/provenance/sources.h"
#include "machine/topology/topology.h"

struct hint {
	const char *text, *hypervisor;
};

#if defined(__x86_64__) || defined(__i386__)
/* Asks CPUID, which needs no file. */
static const char *ask_cpu(void)
{
	static const struct hint vendors[] = {
		{ "KVMKVMKVM", "kvm" },		{ "Linux KVM Hv", "kvm" },
		{ "Microsoft Hv", "hyperv" },	{ "VMwareVMware", "vmware" },
		{ "XenVMMXenVMM", "xen" },	{ "TCGTCGTCGTCG", "qemu" },
		{ "bhyve bhyve ", "bhyve" },	{ "ACRNACRNACRN", "acrn" },
		{ " lrpepyh vr", "parallels" }, { "VBoxVBoxVBox", "virtualbox" },
		{ "QNXQVMBSQG", "qnx" },
	};
	unsigned eax, ebx, ecx, edx;
	char vendor[13] = "";

	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx >> 31))
		return NULL;
	__cpuid(0x40000000, eax, ebx, ecx, edx);
	memcpy(vendor, &ebx, 4);
	memcpy(vendor + 4, &ecx, 4);
	memcpy(vendor + 8, &edx, 4);
	for (unsigned i = 0; i < LENGTH(vendors); i++)
		if (!strcmp(vendors[i].text, vendor))
			return vendors[i].hypervisor;
	return "unknown";
}
#else
static const char *ask_cpu(void)
{
	return NULL;
}
#endif

/*
 * Asks the firmware for its vendor and product. Vendors that also make real machines need a further
 * hint.
 */
static const char *ask_firmware(const char *root, bool *readable)
{
	static const char *const files[] = {
		"/sys/class/dmi/id/product_name",	   "/sys/class/dmi/id/sys_vendor",
		"/sys/class/dmi/id/bios_vendor",	   "/sys/hypervisor/type",
		"/proc/device-tree/hypervisor/compatible", "/proc/device-tree/compatible",
	};
	static const struct hint hints[] = {
		{ "KVM", "kvm" },
		{ "QEMU", "qemu" },
		{ "VirtualBox", "virtualbox" },
		{ "VMware", "vmware" },
		{ "Virtual Machine", "hyperv" },
		{ "Google Compute Engine", "kvm" },
		{ "OpenStack", "kvm" },
		{ "Xen", "xen" },
		{ "xen", "xen" },
		{ "linux,kvm", "kvm" },
		{ "linux,dummy-virt", "qemu" },
		{ "Bochs", "qemu" },
		{ "Parallels", "parallels" },
		{ "bhyve", "bhyve" },
		{ "Apple Virtualization", "apple" },
	};
	const char *found = NULL;
	bool metal = false, amazon = false;

	for (unsigned i = 0; i < LENGTH(files) && !found; i++) {
		char *line = sysfs_line(root, "%s", files[i]);

		for (unsigned j = 0; line && j < LENGTH(hints) && !found; j++)
			found = strstr(line, hints[j].text) ? hints[j].hypervisor : NULL;
		*readable |= line != NULL;
		metal |= line && strstr(line, ".metal");
		amazon |= line && strstr(line, "Amazon EC2");
		free(line);
	}
	return found ? found : amazon && !metal ? "kvm" : NULL;
}

static bool has_word(const char *text, const char *word)
{
	size_t length = strlen(word);

	for (; text; text = strchr(text, ' ')) {
		text += strspn(text, " ");
		if (!strncmp(text, word, length) && (text[length] == ' ' || !text[length]))
			return true;
	}
	return false;
}

const char *provenance_hypervisor(const char *root, bool *known)
{
	const char *found = strcmp(root, SYSFS_ROOT) ? NULL : ask_cpu(), *firmware;
	char *cpuinfo = sysfs_text(root, "/proc/cpuinfo"), *flags = field_text(cpuinfo, "flags");
	bool flagged = has_word(flags, "hypervisor"), readable = false;

	firmware = ask_firmware(root, &readable);
	/*
	 * An x86 guest's CPU has the flag `hypervisor`; without it, the firmware names a real
	 * machine.
	 */
	if (!found && (flagged || !flags))
		found = firmware;
	/* a paravirtual guest of Xen sees the host's CPU, without the flag */
	if (!found && firmware && !strcmp(firmware, "xen"))
		found = firmware;
	if (!found && flagged)
		found = "unknown";
	*known = found || flags || readable;
	free(flags);
	free(cpuinfo);
	return found;
}

#define DMI "/sys/class/dmi/id"

/* Whether it is 32 hex digits, hyphens aside; if all are equal, nobody has set the id. */
static bool is_id(const char *text)
{
	const size_t same = strspn(text, (char[]){ *text, '-', 0 });
	size_t digits = 0;

	for (const char *c = text; *c; c++)
		digits += *c != '-';
	return digits == 32 && !text[strspn(text, "0123456789abcdefABCDEF-")] && text[same];
}

/*
 * machine-id(5) asks each application to publish a hash of its own, not the id. This hash has 64 of
 * 128 bits, so nobody can compute the id from it; but a guessed id can be checked.
 */
static json_t *id_of(const char *root, const char *path)
{
	char *id = sysfs_line(root, "%s", path);
	char text[HASH_TEXT];
	json_t *hashed = NULL;

	if (id && is_id(id))
		hashed = json_string(
			hash_print(hash_more(hash_text("locus machine "), id, strlen(id)), text));
	free(id);
	return hashed;
}

json_t *provenance_id(const char *root, const char **why)
{
	/* systemd creates /run/machine-id only if each boot gets a new id */
	char *passing = sysfs_line(root, "/run/machine-id");
	json_t *id = passing ? NULL : id_of(root, "/etc/machine-id");

	*why = passing ? "/etc/machine-id is another one after each boot, and " DMI
			 "/product_uuid has none that can be read"
		       : "neither /etc/machine-id nor " DMI
			 "/product_uuid has one that can be read";
	free(passing);
	return id ? id : id_of(root, DMI "/product_uuid");
}

json_t *provenance_firmware(const char *root)
{
	static const struct source sources[] = {
		{ "bios_vendor", DMI "/bios_vendor", source_line, 0 },
		{ "bios_version", DMI "/bios_version", source_line, 0 },
		{ "bios_date", DMI "/bios_date", source_line, 0 },
		{ "board_name", DMI "/board_name", source_line, 0 },
		{ "sys_vendor", DMI "/sys_vendor", source_line, 0 },
		{ "product_name", DMI "/product_name", source_line, 0 },
		{ 0 },
	};
	json_t *firmware = json_object();

	source_put_all(firmware, root, sources);
	return firmware;
}

/* Hides arguments that may be secret: a boot loader may pass a password. */
static json_t *read_command_line(const char *root, const char *path, int64_t scale)
{
	char *line = sysfs_line(root, "%s", path), *rest = line, *word, *shown, *end;

	(void)scale;
	shown = line ? calloc(strlen(line) + 1, 8) : NULL;
	for (end = shown; shown && (word = strsep(&rest, " "));) {
		size_t name = strcspn(word, "=");

		if (end != shown)
			*end++ = ' ';
		end = word[name] && provenance_is_secret(word, name)
			      ? stpcpy(stpncpy(end, word, name), "=<hidden>")
			      : stpcpy(end, word);
	}
	free(line);
	return source_text(shown);
}

json_t *provenance_kernel(const char *root)
{
	static const struct source sources[] = {
		{ "release", "/proc/sys/kernel/osrelease", source_line, 0 },
		{ "version", "/proc/sys/kernel/version", source_line, 0 },
		{ "command_line", "/proc/cmdline", read_command_line, 0 },
		{ 0 },
	};
	json_t *kernel = json_object();

	source_put_all(kernel, root, sources);
	return kernel;
}

int provenance_turbo(const char *root, const char **source)
{
	static const struct {
		const char *path;
		uint64_t on;
	} rows[] = {
		{ SOURCE_CPUS "/intel_pstate/no_turbo", 0 },
		{ SOURCE_CPUS "/cpufreq/boost", 1 },
		{ SOURCE_CPUS "/cpu0/cpufreq/boost", 1 },
		{ SOURCE_CPUS "/cpu0/cpufreq/cpb", 1 },
	};
	uint64_t value;

	for (unsigned i = 0; i < LENGTH(rows); i++) {
		*source = rows[i].path;
		if (!sysfs_number(root, &value, "%s", rows[i].path))
			return value == rows[i].on;
	}
	*source = NULL;
	return -1;
}

/* "performance"; "performance,powersave" if CPUs differ. */
static json_t *governors_of(const char *root, const struct machine *m)
{
	char found[128] = "";

	for (unsigned i = 0; i < m->cpus; i++) {
		char *governor = sysfs_line(root, SOURCE_CPUS "/cpu%d/cpufreq/scaling_governor",
					    m->cpu[i].number);
		size_t used = strlen(found);

		if (governor && !strstr(found, governor))
			snprintf(found + used, sizeof(found) - used, "%s%s", used ? "," : "",
				 governor);
		free(governor);
	}
	return *found ? utf8_json(found) : NULL;
}

/* The first CPU of the fastest kind: trials with one thread run there. */
static int fast_cpu(const struct machine *m)
{
	const struct cpu *best = m->cpu;

	for (unsigned i = 1; i < m->cpus; i++)
		best = kinds_rank(m, &m->cpu[i]) < kinds_rank(m, best) ? &m->cpu[i] : best;
	return best->number;
}

json_t *provenance_frequency(const char *root, const struct machine *m)
{
	const int64_t kHz = 1000, MHz = 1000000;
	const int cpu = m->running && m->cpus ? fast_cpu(m) : 0;
	const char *turbo_source;
	const struct {
		const char *key, *file;
		json_t *(*read)(const char *, const char *, int64_t);
		int64_t scale;
	} rows[] = {
		{ "driver", "cpufreq/scaling_driver", source_line, 0 },
		{ "minimum", "cpufreq/scaling_min_freq", source_integer, kHz },
		{ "maximum", "cpufreq/scaling_max_freq", source_integer, kHz },
		{ "base", "cpufreq/base_frequency", source_integer, kHz },
	};
	json_t *frequency = json_object(), *nominal;
	char path[128];
	int turbo;

	for (unsigned i = 0; i < LENGTH(rows); i++) {
		snprintf(path, sizeof(path), SOURCE_CPUS "/cpu%d/%s", cpu, rows[i].file);
		source_put(frequency, root,
			   &(struct source){ rows[i].key, path, rows[i].read, rows[i].scale });
	}
	snprintf(path, sizeof(path), SOURCE_CPUS "/cpu%d/acpi_cppc/nominal_freq", cpu);
	nominal = json_is_null(json_object_get(frequency, "base")) ? source_integer(root, path, MHz)
								   : NULL;
	if (nominal) {
		json_object_set_new(frequency, "base", nominal);
		json_object_del(frequency, "base_why");
	}
	source_put_value(frequency, "governor", governors_of(root, m),
			 "no CPU has a cpufreq/scaling_governor");
	turbo = provenance_turbo(root, &turbo_source);
	source_put_value(frequency, "turbo", turbo < 0 ? NULL : json_boolean(turbo),
			 "neither intel_pstate/no_turbo nor cpufreq/boost is there");
	source_put_value(frequency, "boost_source", json_string(turbo_source),
			 "neither intel_pstate/no_turbo nor cpufreq/boost is there");
	return frequency;
}
