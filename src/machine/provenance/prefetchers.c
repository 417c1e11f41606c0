/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/provenance/prefetchers.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "machine/provenance/sources.h"
#include "machine/topology/topology.h"

enum { BITS = 6 };

/*
 * Registers in which a set bit disables a prefetcher. The names are those of the vendors' manuals.
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

void prefetchers_put(json_t *object, const char *root, const struct machine *m, const json_t *cpu,
		     const char *hypervisor)
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
