/* SPDX-License-Identifier: Apache-2.0 */
/* What the program runs on top of: hypervisor, firmware, kernel. */
#include "machine/provenance/provenance.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "base/arithmetic.h"
#include "base/sysfs.h"
#include "machine/provenance/sources.h"

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
	 * An x86 guest's CPU has the flag `hypervisor`; without it, the firmware's name is that of
	 * a real machine.
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
