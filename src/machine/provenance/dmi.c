/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A structure has a type, a length, a handle of two bytes, and fields; texts follow it, ended by
 * two zeros. Older firmware has shorter structures: a field beyond their end reads as zero, which
 * means "unknown" in all fields.
 */
#include "machine/provenance/dmi.h"

#include <stdio.h>

#include "base/arithmetic.h"
#include "machine/provenance/modules.h"

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

static void take(const uint8_t *structure, struct modules *found)
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

void dmi_modules(const uint8_t *table, size_t n, struct modules *found)
{
	const uint8_t *const end = table + n;

	const uint8_t *s = table;

	for (; end - s >= HEADER && s[0] != END_OF_TABLE; s = next(s, end)) {
		if (s[1] < HEADER || s[1] > end - s)
			break;
		if (s[0] == MEMORY_DEVICE)
			take(s, found);
	}
}
