/* SPDX-License-Identifier: Apache-2.0 */
/* Memory modules, from made-up firmware tables and made-up EDAC trees. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "machine/provenance/modules.h"
#include "tree.h"

#define DMI_TABLE "/sys/firmware/dmi/tables/DMI"
#define GIB	  ((uint64_t)1 << 30)

/* A firmware table that grows. */
static uint8_t table[4096];
static size_t used;

static void add(const void *bytes, size_t n)
{
	assert_true(used + n <= sizeof(table));
	memcpy(table + used, bytes, n);
	used += n;
}

static void add_text(const char *texts)
{
	while (*texts) {
		add(texts, strlen(texts) + 1);
		texts += strlen(texts) + 1;
	}
	add("", 1);
}

/* A module as of SMBIOS 3.3, which has 0x5c bytes, or its first bytes as in older versions. */
static void add_module(unsigned length, unsigned size, unsigned type, unsigned speed,
		       unsigned configured)
{
	uint8_t module[0x5c] = { 17, (uint8_t)length };

	memcpy(module + 0x0c, (uint8_t[]){ size & 0xff, size >> 8 & 0xff }, 2);
	module[0x12] = (uint8_t)type;
	memcpy(module + 0x15, (uint8_t[]){ speed & 0xff, speed >> 8 & 0xff }, 2);
	memcpy(module + 0x1c, (uint8_t[]){ 0, 0, 1, 0x80 }, 4); /* 64 GiB; bit 31 is reserved */
	memcpy(module + 0x20, (uint8_t[]){ configured & 0xff, configured >> 8 & 0xff }, 2);
	memcpy(module + 0x54, (uint8_t[]){ 0x00, 0x20, 1, 0 }, 4); /* 73728 */
	add(module, length);
	add_text("DIMM A1\0BANK 0\0");
}

static void begin(void)
{
	static const uint8_t bios[] = { 0, 6, 0, 0, 1, 2 };

	used = 0;
	add(bios, sizeof(bios));
	add_text("Vendor\0Version\0");
}

static struct modules read_table(void)
{
	struct modules found = { 0 };
	uint8_t *copy = malloc(used);

	assert_non_null(copy);
	memcpy(copy, table, used);
	modules_from_dmi(copy, used, &found);
	free(copy);
	return found;
}

static void a_table_has_modules_and_empty_slots(void **state)
{
	static const uint8_t end[] = { 127, 4, 0, 0, 0, 0 };
	struct modules found;

	(void)state;
	begin();
	for (unsigned i = 0; i < 8; i++)
		add_module(0x22, 0x7fff, 0x22, 4800, 4400);
	add_module(0x22, 16384, 0x1a, 3200, 2933);
	add_module(0x22, 0, 2, 0, 0);
	add(end, sizeof(end));
	add_module(0x22, 16384, 0x1a, 3200, 2933); /* behind the end */
	found = read_table();
	assert_int_equal(found.slots, 10);
	assert_int_equal(found.count, 9);
	assert_int_equal(found.kinds, 2);
	assert_int_equal(found.kind[0].count, 8);
	assert_string_equal(found.kind[0].type, "DDR5");
	assert_true(found.kind[0].size == 64 * GIB);
	assert_true(found.kind[0].speed == UINT64_C(4800000000));
	assert_true(found.kind[0].configured == UINT64_C(4400000000));
	assert_int_equal(found.kind[1].count, 1);
	assert_string_equal(found.kind[1].type, "DDR4");
	assert_true(found.kind[1].size == 16 * GIB);
	assert_true(found.kind[1].configured == UINT64_C(2933000000));
}

static void what_older_firmware_lacks_is_not_known(void **state)
{
	struct modules found;

	(void)state;
	begin();
	add_module(0x15, 0x8200, 0x12, 400, 400); /* 512 KiB; the entry ends after the type */
	add_module(0x1b, 0xffff, 0x99, 333, 333); /* neither size nor type is known */
	add_module(0x5c, 1024, 0x22, 0xffff, 0);  /* faster than two bytes can express */
	add_module(0x22, 1024, 0x22, 0xffff, 0);  /* for which this entry has no room */
	found = read_table();
	assert_int_equal(found.count, 4);
	assert_true(found.kind[0].size == 512 << 10 && !found.kind[0].speed);
	assert_string_equal(found.kind[0].type, "DDR");
	assert_true(!found.kind[1].size && !found.kind[1].configured);
	assert_true(found.kind[1].speed == UINT64_C(333000000));
	assert_string_equal(found.kind[1].type, "");
	assert_true(found.kind[2].speed == UINT64_C(73728000000));
	assert_true(!found.kind[3].speed);
}

/* A table that is cut at each byte, and one whose first structure has each wrong length. */
static void a_table_that_is_cut_ends_there(void **state)
{
	size_t whole;

	(void)state;
	begin();
	add_module(0x22, 16384, 0x1a, 3200, 2933);
	add_module(0x22, 16384, 0x1a, 3200, 2933);
	whole = used;
	for (used = 0; used < whole; used++)
		assert_true(read_table().count <= 2);
	used = whole;
	assert_int_equal(read_table().count, 2);
	for (unsigned length = 0; length < 256; length++) {
		table[1] = (uint8_t)length;
		assert_true(read_table().count <= 3);
	}
	table[1] = 3; /* shorter than a header: reading would never end */
	assert_int_equal(read_table().slots, 0);
}

static void more_kinds_than_there_is_room_for_are_counted(void **state)
{
	struct modules found = { 0 };

	(void)state;
	for (unsigned i = 0; i < MODULES_KINDS + 3; i++)
		modules_add(&found, &(struct module){ .size = i });
	assert_int_equal(found.count, MODULES_KINDS + 3);
	assert_int_equal(found.kinds, MODULES_KINDS);
}

/* As skx_edac presents it: empty slots are left out of the numbering. */
static const struct file slots[] = {
	{ MODULES_EDAC "/mc0/dimm0/dimm_location", "channel 0 slot 0 \n" },
	{ MODULES_EDAC "/mc0/dimm0/dimm_mem_type", "Registered-DDR5\n" },
	{ MODULES_EDAC "/mc0/dimm0/size", "65536\n" },
	{ MODULES_EDAC "/mc0/dimm2/dimm_location", "channel 1 slot 0 \n" },
	{ MODULES_EDAC "/mc0/dimm2/dimm_mem_type", "Registered-DDR5\n" },
	{ MODULES_EDAC "/mc0/dimm2/size", "65536\n" },
	{ MODULES_EDAC "/mc0/dimm3/dimm_location", "channel 1 slot 1 \n" },
	{ MODULES_EDAC "/mc0/dimm3/dimm_mem_type", "Registered-DDR5\n" },
	{ MODULES_EDAC "/mc0/dimm3/size", "65536\n" },
	{ MODULES_EDAC "/mc1/dimm0/dimm_location", "channel 0 slot 0 \n" },
	{ MODULES_EDAC "/mc1/dimm0/dimm_mem_type", "Registered-DDR5\n" },
	{ MODULES_EDAC "/mc1/dimm0/size", "32768\n" },
	{ 0 },
};

/* As amd64_edac presents it. */
static const struct file rows[] = {
	{ MODULES_EDAC "/mc0/dimm0/dimm_location", "csrow 0 channel 0 \n" },
	{ MODULES_EDAC "/mc0/dimm0/size", "16384\n" },
	{ MODULES_EDAC "/mc0/dimm1/dimm_location", "csrow 0 channel 1 \n" },
	{ MODULES_EDAC "/mc0/dimm1/size", "16384\n" },
	{ MODULES_EDAC "/mc0/dimm2/dimm_location", "csrow 1 channel 0 \n" },
	{ MODULES_EDAC "/mc0/dimm2/size", "16384\n" },
	{ 0 },
};

static void edac_tells_modules_by_slot(void **state)
{
	struct modules found = { 0 };
	unsigned channels = 17;

	(void)state;
	assert_false(modules_from_edac(root, &found, &channels));
	assert_int_equal(channels, 0);
	put_files(slots);
	assert_true(modules_from_edac(root, &found, &channels));
	assert_int_equal(channels, 3);
	assert_int_equal(found.count, 4);
	assert_int_equal(found.kinds, 2);
	assert_int_equal(found.kind[0].count, 3);
	assert_true(found.kind[0].size == 64 * GIB);
	assert_string_equal(found.kind[1].type, "Registered-DDR5");
}

static void edac_tells_only_channels_by_row(void **state)
{
	struct modules found = { 0 };
	unsigned channels;

	(void)state;
	put_files(rows);
	assert_false(modules_from_edac(root, &found, &channels));
	assert_int_equal(channels, 2);
	put_file(MODULES_EDAC "/mc0/dimm3/dimm_location", "channel 99999999999999999999\n");
	assert_false(modules_from_edac(root, &found, &channels));
	assert_int_equal(channels, 2);
}

static json_t *put(void)
{
	json_t *memory = json_object();

	modules_put(memory, root);
	return memory;
}

static const char *why_of(const json_t *memory, const char *key)
{
	char why[64];

	assert_true(json_is_null(json_object_get(memory, key)));
	snprintf(why, sizeof(why), "%s_why", key);
	return json_string_value(json_object_get(memory, why));
}

static void the_record_says_who_told_or_why_not(void **state)
{
	const json_t *module;
	json_t *memory = put();

	(void)state;
	assert_string_equal(why_of(memory, "modules"),
			    DMI_TABLE ": No such file or directory; " MODULES_EDAC " has none");
	assert_string_equal(why_of(memory, "slots"), DMI_TABLE ": No such file or directory");
	assert_string_equal(why_of(memory, "channels"), MODULES_EDAC " has none");
	json_decref(memory);

	put_files(rows);
	memory = put();
	assert_non_null(strstr(why_of(memory, "modules"), "rows of chips"));
	assert_int_equal(json_integer_value(json_object_get(memory, "channels")), 2);
	json_decref(memory);

	put_files(slots);
	remove(in_tree(MODULES_EDAC "/mc0/dimm1/dimm_location"));
	memory = put();
	assert_int_equal(json_array_size(json_object_get(memory, "modules")), 2);
	module = json_array_get(json_object_get(memory, "modules"), 0);
	assert_int_equal(json_integer_value(json_object_get(module, "count")), 3);
	assert_string_equal(why_of(module, "speed"), "EDAC does not say");
	json_decref(memory);

	begin();
	put_bytes(DMI_TABLE, table, used);
	memory = put();
	assert_string_equal(why_of(memory, "slots"), DMI_TABLE ": no memory slot in it");
	json_decref(memory);

	add_module(0x22, 16384, 0x1a, 3200, 2933);
	put_bytes(DMI_TABLE, table, used);
	memory = put();
	assert_int_equal(json_integer_value(json_object_get(memory, "slots")), 1);
	module = json_array_get(json_object_get(memory, "modules"), 0);
	assert_true(json_integer_value(json_object_get(module, "size")) == (json_int_t)(16 * GIB));
	assert_true(json_integer_value(json_object_get(module, "speed")) == 3200000000);
	assert_true(json_integer_value(json_object_get(module, "configured_speed")) == 2933000000);
	json_decref(memory);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_has_modules_and_empty_slots),
		cmocka_unit_test(what_older_firmware_lacks_is_not_known),
		cmocka_unit_test(a_table_that_is_cut_ends_there),
		cmocka_unit_test(more_kinds_than_there_is_room_for_are_counted),
		TEST(edac_tells_modules_by_slot),
		TEST(edac_tells_only_channels_by_row),
		TEST(the_record_says_who_told_or_why_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
