/* SPDX-License-Identifier: Apache-2.0 */
/* Memory modules, as the kernel or firmware reports them. */
#include "machine/provenance/modules.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/sysfs.h"
#include "base/utf8.h"
#include "machine/provenance/sources.h"

static bool same(const struct module *a, const struct module *b)
{
	return a->size == b->size && a->speed == b->speed && a->configured == b->configured &&
	       !strcmp(a->type, b->type);
}

void modules_add(struct modules *found, const struct module *m)
{
	unsigned i = 0;

	found->count++;
	while (i < found->kinds && !same(&found->kind[i], m))
		i++;
	if (i == MODULES_KINDS)
		return;
	if (i == found->kinds)
		found->kind[found->kinds++] = *m;
	found->kind[i].count++;
}

/* The kernel's reports (EDAC). */

/*
 * More controllers than any machine has, and more modules than any controller: limits the search.
 */
enum { MOST_CONTROLLERS = 64, MOST_MODULES = 64 };

/* The number after a word, as in "branch 0 channel 2 slot 1"; -1: no number below 16. */
static int number_behind(const char *text, const char *word)
{
	const char *found = strstr(text, word);
	char *end;
	long number;

	if (!found)
		return -1;
	found += strlen(word);
	number = strtol(found, &end, 10);
	return end != found && number >= 0 && number < 16 ? (int)number : -1;
}

/*
 * Adds the module to `found`, and its channel's bit to `channels`. False: it is a row of chips, not
 * a module.
 */
static bool take_edac(const char *root, unsigned controller, unsigned number, const char *location,
		      uint64_t *channels, struct modules *found)
{
	const int channel = number_behind(location, "channel "),
		  branch = number_behind(location, "branch ");
	char *type =
		sysfs_line(root, MODULES_EDAC "/mc%u/dimm%u/dimm_mem_type", controller, number);
	struct module m = { .size = 0 };
	uint64_t mib;

	if (channel >= 0)
		*channels |= UINT64_C(1) << ((branch > 0 ? branch % 4 : 0) * 16 + channel);
	if (!sysfs_number(root, &mib, MODULES_EDAC "/mc%u/dimm%u/size", controller, number) &&
	    mib < UINT64_C(1) << 32)
		m.size = mib << 20;
	snprintf(m.type, sizeof(m.type), "%s", type ? type : "");
	free(type);
	modules_add(found, &m);
	return !strstr(location, "csrow");
}

bool modules_from_edac(const char *root, struct modules *found, unsigned *channels)
{
	bool whole = true;

	*channels = 0;
	for (unsigned i = 0; i < MOST_CONTROLLERS && sysfs_exists(root, MODULES_EDAC "/mc%u", i);
	     i++) {
		uint64_t of_this = 0;

		for (unsigned j = 0; j < MOST_MODULES; j++) {
			char *location =
				sysfs_line(root, MODULES_EDAC "/mc%u/dimm%u/dimm_location", i, j);

			if (location)
				whole &= take_edac(root, i, j, location, &of_this, found);
			free(location);
		}
		*channels += (unsigned)__builtin_popcountll(of_this);
	}
	return whole && found->count;
}

/*
 * Firmware's table. A structure has a type, a length, a handle of two bytes, and fields; texts
 * follow it, ended by two zeros. Older firmware has shorter structures: a field beyond their end
 * reads as zero, which means "unknown" in all fields.
 */
enum { HEADER = 4, MEMORY_DEVICE = 17, END_OF_TABLE = 127 };
enum { SIZE = 0x0c, TYPE = 0x12, SPEED = 0x15, SIZE_MORE = 0x1c, CONFIGURED = 0x20 };
enum { SPEED_MORE = 0x54, CONFIGURED_MORE = 0x58 };

/* A number of n bytes, the lowest first. */
static uint32_t field(const uint8_t *structure, unsigned at, unsigned n)
{
	uint32_t value = 0;

	if (at + n > structure[1])
		return 0;
	while (n--)
		value = value << 8 | structure[at + n];
	return value;
}

/*
 * The size in bytes; 0: unknown. The field is in KiB if its highest bit is set, else in MiB; larger
 * sizes have a second field.
 */
static uint64_t size_of(const uint8_t *structure)
{
	const uint32_t size = field(structure, SIZE, 2);

	if (size == 0xffff)
		return 0;
	if (size == 0x7fff)
		return (uint64_t)(field(structure, SIZE_MORE, 4) & 0x7fffffff) << 20;
	return size & 0x8000 ? (uint64_t)(size & 0x7fff) << 10 : (uint64_t)size << 20;
}

/* The speed in transfers/s; the table has it in millions. */
static uint64_t speed_of(const uint8_t *structure, unsigned at, unsigned more)
{
	uint32_t speed = field(structure, at, 2);

	if (speed == 0xffff)
		speed = field(structure, more, 4) & 0x7fffffff;
	return speed * UINT64_C(1000000);
}

static const char *type_of(const uint8_t *structure)
{
	static const char *const types[] = {
		[0x03] = "DRAM",   [0x07] = "RAM",    [0x0f] = "SDRAM",	 [0x12] = "DDR",
		[0x13] = "DDR2",   [0x14] = "DDR2",   [0x18] = "DDR3",	 [0x1a] = "DDR4",
		[0x1b] = "LPDDR",  [0x1c] = "LPDDR2", [0x1d] = "LPDDR3", [0x1e] = "LPDDR4",
		[0x1f] = "NVDIMM", [0x20] = "HBM",    [0x21] = "HBM2",	 [0x22] = "DDR5",
		[0x23] = "LPDDR5", [0x24] = "HBM3",   [0x25] = "MRDIMM",
	};
	const uint32_t type = field(structure, TYPE, 1);

	return type < LENGTH(types) && types[type] ? types[type] : "";
}

static void take_dmi(const uint8_t *structure, struct modules *found)
{
	struct module m = { .size = size_of(structure),
			    .speed = speed_of(structure, SPEED, SPEED_MORE),
			    .configured = speed_of(structure, CONFIGURED, CONFIGURED_MORE) };

	found->slots++;
	if (!field(structure, SIZE, 2)) /* empty */
		return;
	snprintf(m.type, sizeof(m.type), "%s", type_of(structure));
	modules_add(found, &m);
}

/* Where the next structure begins, after this one's texts; or `end`. */
static const uint8_t *next(const uint8_t *structure, const uint8_t *end)
{
	const uint8_t *text = structure + structure[1];

	while (end - text >= 2 && (text[0] || text[1]))
		text++;
	return end - text >= 2 ? text + 2 : end;
}

void modules_from_dmi(const uint8_t *table, size_t n, struct modules *found)
{
	const uint8_t *end = table + n, *s = table;

	for (; end - s >= HEADER && s[0] != END_OF_TABLE; s = next(s, end)) {
		if (s[1] < HEADER || s[1] > end - s)
			break;
		if (s[0] == MEMORY_DEVICE)
			take_dmi(s, found);
	}
}

#define DMI_TABLE "/sys/firmware/dmi/tables/DMI"

static json_t *known(uint64_t value)
{
	return value ? source_size(value) : NULL;
}

static json_t *module_of(const struct module *m, const char *source)
{
	static const char silent[] = "%s does not say";
	json_t *module = json_object();

	json_object_set_new(module, "count", json_integer(m->count));
	source_put_value(module, "type", *m->type ? utf8_json(m->type) : NULL, silent, source);
	source_put_value(module, "size", known(m->size), silent, source);
	source_put_value(module, "speed", known(m->speed), silent, source);
	source_put_value(module, "configured_speed", known(m->configured), silent, source);
	return module;
}

static json_t *list_of(const struct modules *found, const char *source)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < found->kinds; i++)
		json_array_append_new(list, module_of(&found->kind[i], source));
	return list;
}

/* Reads firmware's table, which only root may do. *why is "" if it could be read. */
static struct modules of_table(const char *root, const char **why)
{
	struct modules found = { 0 };
	size_t n;
	char *table = sysfs_bytes(root, &n, DMI_TABLE);

	*why = table ? "" : strerror(errno);
	if (table)
		modules_from_dmi((const uint8_t *)table, n, &found);
	free(table);
	return found;
}

void modules_put(json_t *memory, const char *root)
{
	struct modules seen = { 0 };
	const char *why;
	unsigned channels;
	const struct modules table = of_table(root, &why);
	const bool whole = modules_from_edac(root, &seen, &channels);
	const char *rows = seen.count ? "has rows of chips, not modules" : "has none";
	json_t *list = table.count ? list_of(&table, "the DMI table")
		       : whole	   ? list_of(&seen, "EDAC")
				   : NULL;

	source_put_value(memory, "modules", list, DMI_TABLE ": %s; " MODULES_EDAC " %s",
			 *why ? why : "no memory module in it", rows);
	source_put_value(memory, "slots", known(table.slots), DMI_TABLE ": %s",
			 *why ? why : "no memory slot in it");
	source_put_value(memory, "channels", known(channels), MODULES_EDAC " has none");
}
