/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "base/arithmetic.h"
#include "base/fields.h"
#include "base/sysfs.h"
#include "machine/provenance/hypervisor.h"

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

const char *hypervisor_find(const char *root, bool *known)
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
