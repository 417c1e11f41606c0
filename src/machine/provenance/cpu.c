/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU: vendor, model, features, prefetchers. */
#include "machine/provenance/provenance.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/sysfs.h"
#include "base/utf8.h"
#include "machine/provenance/sources.h"
#include "machine/topology/topology.h"

/* Names of aarch64 cores, by the implementer and part of the main ID register (MIDR). */
static const struct {
	unsigned implementer, part;
	const char *name;
} cores[] = {
	{ 0x41, 0xd03, "Cortex-A53" },	 { 0x41, 0xd04, "Cortex-A35" },
	{ 0x41, 0xd05, "Cortex-A55" },	 { 0x41, 0xd07, "Cortex-A57" },
	{ 0x41, 0xd08, "Cortex-A72" },	 { 0x41, 0xd09, "Cortex-A73" },
	{ 0x41, 0xd0a, "Cortex-A75" },	 { 0x41, 0xd0b, "Cortex-A76" },
	{ 0x41, 0xd0c, "Neoverse N1" },	 { 0x41, 0xd0d, "Cortex-A77" },
	{ 0x41, 0xd40, "Neoverse V1" },	 { 0x41, 0xd41, "Cortex-A78" },
	{ 0x41, 0xd44, "Cortex-X1" },	 { 0x41, 0xd46, "Cortex-A510" },
	{ 0x41, 0xd47, "Cortex-A710" },	 { 0x41, 0xd48, "Cortex-X2" },
	{ 0x41, 0xd49, "Neoverse N2" },	 { 0x41, 0xd4a, "Neoverse E1" },
	{ 0x41, 0xd4d, "Cortex-A715" },	 { 0x41, 0xd4e, "Cortex-X3" },
	{ 0x41, 0xd4f, "Neoverse V2" },	 { 0x41, 0xd80, "Cortex-A520" },
	{ 0x41, 0xd81, "Cortex-A720" },	 { 0x41, 0xd82, "Cortex-X4" },
	{ 0x41, 0xd84, "Neoverse V3" },	 { 0x41, 0xd8e, "Neoverse N3" },
	{ 0x42, 0x516, "ThunderX2" },	 { 0x43, 0x0a1, "ThunderX" },
	{ 0x43, 0x0af, "ThunderX2" },	 { 0x43, 0x0b8, "ThunderX3" },
	{ 0x46, 0x001, "A64FX" },	 { 0x48, 0xd01, "TaiShan v110" },
	{ 0x48, 0xd02, "TaiShan v120" }, { 0x4e, 0x004, "Carmel" },
	{ 0x50, 0x000, "X-Gene" },	 { 0x51, 0x001, "Oryon" },
	{ 0x51, 0xc00, "Falkor" },	 { 0x61, 0x022, "M1 Icestorm" },
	{ 0x61, 0x023, "M1 Firestorm" }, { 0x61, 0x032, "M2 Blizzard" },
	{ 0x61, 0x033, "M2 Avalanche" }, { 0x6d, 0xd49, "Azure Cobalt 100" },
	{ 0x70, 0x662, "FTC662" },	 { 0x70, 0x663, "FTC663" },
	{ 0xc0, 0xac3, "AmpereOne" },	 { 0xc0, 0xac4, "AmpereOne A" },
};

static const struct {
	unsigned implementer;
	const char *name;
} implementers[] = {
	{ 0x41, "ARM" },       { 0x42, "Broadcom" }, { 0x43, "Cavium" },    { 0x46, "Fujitsu" },
	{ 0x48, "HiSilicon" }, { 0x4e, "NVIDIA" },   { 0x50, "APM" },	    { 0x51, "Qualcomm" },
	{ 0x53, "Samsung" },   { 0x61, "Apple" },    { 0x6d, "Microsoft" }, { 0x70, "Phytium" },
	{ 0xc0, "Ampere" },
};

struct midr {
	unsigned implementer, variant, part, revision;
};

/* Reads the register itself, or its fields in /proc/cpuinfo. */
static bool midr_read(const char *root, const char *cpuinfo, struct midr *m)
{
	static const char *const keys[] = { "CPU implementer", "CPU variant", "CPU part",
					    "CPU revision" };
	unsigned *const fields[] = { &m->implementer, &m->variant, &m->part, &m->revision };
	char *line = sysfs_line(root, SOURCE_CPUS "/cpu0/regs/identification/midr_el1");
	int64_t value;
	bool found = line && source_parse_integer(line, &value);

	free(line);
	if (found) {
		*m = (struct midr){ value >> 24 & 0xff, value >> 20 & 0xf, value >> 4 & 0xfff,
				    value & 0xf };
		return true;
	}
	for (unsigned i = 0; i < LENGTH(keys); i++) {
		char *text = field_text(cpuinfo, keys[i]);

		found = text && source_parse_integer(text, &value) && value >= 0 && value <= 0xfff;
		free(text);
		if (!found)
			return false;
		*fields[i] = (unsigned)value;
	}
	return true;
}

static void put_arm(json_t *cpu, const struct midr *m)
{
	const char *vendor = NULL, *model = NULL;

	for (unsigned i = 0; i < LENGTH(implementers); i++)
		if (implementers[i].implementer == m->implementer)
			vendor = implementers[i].name;
	for (unsigned i = 0; i < LENGTH(cores); i++)
		if (cores[i].implementer == m->implementer && cores[i].part == m->part)
			model = cores[i].name;
	source_put_value(cpu, "vendor", json_string(vendor),
			 "implementer 0x%02x is unknown to locus", m->implementer);
	source_put_value(cpu, "model", json_string(model),
			 "implementer 0x%02x, part 0x%03x is unknown to locus", m->implementer,
			 m->part);
	source_put_value(cpu, "family", NULL, "this architecture has none");
	json_object_set_new(cpu, "model_number", json_integer(m->part));
	json_object_set_new(cpu, "stepping", json_sprintf("r%up%u", m->variant, m->revision));
}

static void put_integer_of(json_t *object, const char *name, const char *text, const char *key)
{
	char *word = field_text(text, key);
	int64_t value;
	bool found = word && source_parse_integer(word, &value);

	source_put_value(object, name, found ? json_integer(value) : NULL,
			 "/proc/cpuinfo has no number \"%s\"", key);
	free(word);
}

static void put_text_of(json_t *object, const char *name, const char *text, const char *key,
			const char *other_key)
{
	char *value = field_text(text, key);

	if (!value)
		value = field_text(text, other_key);
	source_put_value(object, name, source_text(value), "/proc/cpuinfo has no \"%s\"", key);
}

/* Puts what x86 reports; other architectures report less, under other names. */
static void put_others(json_t *cpu, const char *cpuinfo)
{
	put_text_of(cpu, "vendor", cpuinfo, "vendor_id", "mvendorid");
	put_text_of(cpu, "model", cpuinfo, "model name", "cpu");
	put_integer_of(cpu, "family", cpuinfo, "cpu family");
	put_integer_of(cpu, "model_number", cpuinfo, "model");
	put_integer_of(cpu, "stepping", cpuinfo, "stepping");
}

static json_t *words_of(const char *text)
{
	json_t *list = text ? json_array() : NULL;

	while (list && *(text += strspn(text, " \t")) && *text != '\n') {
		size_t length = strcspn(text, " \t\n");

		json_array_append_new(list, source_text(strndup(text, length)));
		text += length;
	}
	return list;
}

json_t *provenance_cpu(const char *root)
{
	char *cpuinfo = sysfs_text(root, "/proc/cpuinfo");
	const char *flags = field_find(cpuinfo, "flags");
	json_t *cpu = json_object();
	struct utsname name;
	struct midr midr;
	int status;

	if (midr_read(root, cpuinfo, &midr))
		put_arm(cpu, &midr);
	else
		put_others(cpu, cpuinfo);
	status = uname(&name);
	source_put_value(cpu, "architecture", status ? NULL : utf8_json(name.machine), "uname: %s",
			 strerror(errno));
	put_text_of(cpu, "microcode", cpuinfo, "microcode", "CPU microcode");
	source_put_value(cpu, "flags", words_of(flags ? flags : field_find(cpuinfo, "Features")),
			 "/proc/cpuinfo has no \"flags\"");
	free(cpuinfo);
	return cpu;
}

enum { BITS = 6 };

/*
 * Registers in which a set bit disables a prefetcher. Names as in the vendors' manuals.
 */
static const struct control {
	const char *vendor;
	uint32_t number;
	const char *bit[BITS];
} controls[] = {
	{ "GenuineIntel", 0x1a4, { "L2", "L2 adjacent line", "L1 next line", "L1 IP" } },
	{ "AuthenticAMD",
	  0xc0000108,
	  { "L1 stream", "L1 stride", "L1 region", "L2 stream", NULL, "L2 up/down" } },
};

static const struct control *control_of(const json_t *cpu)
{
	const char *vendor = json_string_value(json_object_get(cpu, "vendor"));

	for (unsigned i = 0; vendor && i < LENGTH(controls); i++)
		if (!strcmp(vendor, controls[i].vendor))
			return &controls[i];
	return NULL;
}

/* The kernel module `msr` has a file for each CPU; a register's number is its offset there. */
static bool read_register(const char *root, int cpu, uint32_t number, uint64_t *value)
{
	char path[PATH_MAX];
	ssize_t n;
	int file;

	snprintf(path, sizeof(path), "%s/dev/cpu/%d/msr", root, cpu);
	file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (file < 0)
		return false;
	errno = ENODATA;
	n = pread(file, value, sizeof(*value), number);
	close(file);
	return n == sizeof(*value);
}

static json_t *disabled_by(const struct control *c, uint64_t value)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < BITS; i++)
		if (value >> i & 1 && c->bit[i])
			json_array_append_new(list, json_string(c->bit[i]));
	return list;
}

/* The value that all usable CPUs have; NULL with *why if they differ. */
static json_t *read_all(const struct control *c, const char *root, const struct machine *m,
			char *why, size_t size)
{
	uint64_t first = 0, value = 0;

	for (unsigned i = 0; i < m->cpus; i++) {
		if (!read_register(root, m->cpu[i].number, c->number, &value)) {
			snprintf(why, size, "register 0x%x, /dev/cpu/%d/msr: %s", c->number,
				 m->cpu[i].number, strerror(errno));
			return NULL;
		}
		if (i == 0)
			first = value;
		if (value == first)
			continue;
		snprintf(why, size,
			 "register 0x%x: CPU %d has 0x%" PRIx64 ", CPU %d has 0x%" PRIx64,
			 c->number, m->cpu[0].number, first, m->cpu[i].number, value);
		return NULL;
	}
	return json_pack("{s:o, s:o, s:o}", "register", json_sprintf("0x%x", c->number), "value",
			 json_sprintf("0x%" PRIx64, first), "disabled", disabled_by(c, first));
}

void provenance_put_prefetchers(json_t *object, const char *root, const struct machine *m,
				const json_t *cpu, const char *hypervisor)
{
	const struct control *c = control_of(cpu);
	char why[256] = "no register is known for this processor";
	json_t *found = NULL;

	if (!m->running)
		snprintf(why, sizeof(why), "not this machine");
	else if (hypervisor)
		snprintf(why, sizeof(why), "in a virtual machine the register is not the CPU's");
	else if (c)
		found = read_all(c, root, m, why, sizeof(why));
	source_put_value(object, "prefetchers", found, "%s", why);
}
