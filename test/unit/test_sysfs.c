/* SPDX-License-Identifier: Apache-2.0 */
/* The small files of /proc and /sys: numbers, lists, fields, choices; sizes as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/sysfs.h"
#include "base/text.h"
#include "machine/topology/topology.h"
#include "tree.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define GIB	      (UINT64_C(1) << 30)
#define MIB	      (UINT64_C(1) << 20)

static void numbers_are_read(void **state)
{
	static const struct {
		const char *text;
		uint64_t value;
		int error;
	} rows[] = {
		{ "0", 0, 0 },
		{ " 17\n", 17, 0 },
		{ "9223372036854771712", UINT64_C(9223372036854771712), 0 },
		{ "18446744073709551615", UINT64_MAX, 0 },
		{ "18446744073709551616", 0, ERANGE },
		{ "max", UINT64_MAX, 0 },
		{ "max\n", UINT64_MAX, 0 },
		{ "unlimited", UINT64_MAX, 0 },
		{ "maximum", 0, EINVAL },
		{ "-1", 0, EINVAL },
		{ "+1", 0, EINVAL },
		{ "", 0, EINVAL },
		{ "1.5", 0, EINVAL },
		{ "1 2", 0, EINVAL },
		{ "0x10", 0, EINVAL },
		{ "kB", 0, EINVAL },
	};

	(void)state;
	for (unsigned i = 0; i < LENGTH(rows); i++) {
		uint64_t value = 42;

		errno = 0;
		assert_int_equal(number_parse(rows[i].text, &value), rows[i].error ? -1 : 0);
		if (rows[i].error)
			assert_int_equal(errno, rows[i].error);
		assert_true(value == (rows[i].error ? 42 : rows[i].value));
	}
}

static void lists_are_read(void **state)
{
	static const struct {
		const char *text, *list; /* list NULL: refused */
	} rows[] = {
		{ "0", "0" },
		{ "0-3,8\n", "0-3,8" },
		{ "7,5,6", "5-7" },
		{ "", "" },
		{ "\n", "" },
		{ "0-1048575", "0-1048575" },
		{ "0-1048576", NULL },
		{ "0-4294967295", NULL },
		{ "99999999999999999999", NULL },
		{ "3-1", NULL },
		{ "1-", NULL },
		{ "-1", NULL },
		{ "a", NULL },
		{ "0,,1", NULL },
		{ "0;1", NULL },
		{ "0-3-5", NULL },
	};

	(void)state;
	for (unsigned i = 0; i < LENGTH(rows); i++) {
		hwloc_bitmap_t set = number_list_parse(rows[i].text);
		char *text = NULL;

		assert_int_equal(!set, !rows[i].list);
		if (!set) {
			assert_int_equal(errno, EINVAL);
			continue;
		}
		hwloc_bitmap_list_asprintf(&text, set);
		assert_string_equal(text, rows[i].list);
		free(text);
		hwloc_bitmap_free(set);
	}
}

static void keys_are_found_whole(void **state)
{
	static const char text[] =
		"cpu family\t: 6\nmodel name\t: Some CPU: fast\nmodel\t\t: 207 \t\nempty\t:\n"
		"Node 1 MemFree:      12 kB\ninactive_file 7\nfile 8\nthreads = 9\nhuge "
		"18446744073709551615 kB\n";
	uint64_t value = 0;
	char *word;

	(void)state;
	word = field_text(text, "model name");
	assert_string_equal(word, "Some CPU: fast");
	free(word);
	word = field_text(text, "model");
	assert_string_equal(word, "207");
	free(word);
	assert_true(field_number(text, "model", &value) && value == 207);
	assert_true(field_number(text, "Node 1 MemFree", &value) && value == 12 * 1024);
	assert_true(field_number(text, "file", &value) && value == 8);
	assert_true(field_number(text, "threads", &value) && value == 9);
	assert_false(field_number(text, "huge", &value));
	assert_int_equal(value, 9);
	assert_null(field_text(text, "empty"));
	assert_null(field_text(text, "cpu"));
	assert_null(field_text(text, "Node 1"));
	assert_null(field_find(text, "fil"));
	assert_null(field_find(NULL, "file"));
	assert_null(field_find("", "file"));
	assert_null(field_text("key", "key"));
}

static void odd_files_do_no_harm(void **state)
{
	char long_path[PATH_MAX + 10];
	uint64_t value;
	char *text;

	(void)state;
	assert_null(sysfs_text(root, "/none"));
	assert_int_equal(errno, ENOENT);
	assert_null(sysfs_text(root, "/"));
	assert_int_equal(errno, EISDIR);
	memset(long_path, 'x', sizeof(long_path) - 1);
	long_path[sizeof(long_path) - 1] = '\0';
	assert_null(sysfs_text(root, "/%s", long_path));
	assert_int_equal(errno, ENAMETOOLONG);
	assert_null(sysfs_text(long_path, "/x"));
	assert_false(sysfs_exists(long_path, "/x"));

	assert_true(sysfs_hidden(root, "/none"));
	put_file("/folder/file", "");
	assert_false(sysfs_hidden(root, "/folder"));
	assert_true(sysfs_hidden(root, "/folder/file"));
	assert_int_equal(remove(in_tree("/folder/file")), 0);
	assert_true(sysfs_hidden(root, "/folder"));

	put_file("/empty", "");
	text = sysfs_text(root, "/empty");
	assert_string_equal(text, "");
	free(text);
	assert_null(sysfs_line(root, "/empty"));
	assert_int_equal(errno, ENODATA);
	assert_int_equal(sysfs_number(root, &value, "/empty"), -1);

	put_file("/lines", "  7 \n8\n");
	assert_int_equal(sysfs_number(root, &value, "/lines"), 0);
	assert_int_equal(value, 7);

	assert_int_equal(mkfifo(in_tree("/fifo"), 0600), 0); /* nobody will ever write to it */
	assert_null(sysfs_line(root, "/fifo"));

	put_file("/large", "1");
	assert_int_equal(truncate(in_tree("/large"), 17 << 20), 0);
	assert_null(sysfs_text(root, "/large"));
	assert_int_equal(errno, EFBIG);
	assert_int_equal(truncate(in_tree("/large"), 3 << 20), 0);
	assert_int_equal(sysfs_number(root, &value, "/large"), 0);
	assert_int_equal(value, 1);
}

static void choices_are_read(void **state)
{
	static const struct {
		const char *text, *word;
	} rows[] = { { "always [madvise] never\n", "madvise" },
		     { "[always]\n", "always" },
		     { "1\n", "1" },
		     { "[open\n", "[open" },
		     { "] [x]", "x" } };

	(void)state;
	for (unsigned i = 0; i < LENGTH(rows); i++) {
		char *word;

		put_file("/choice", rows[i].text);
		word = sysfs_choice(root, "/%s", "choice");
		assert_string_equal(word, rows[i].word);
		free(word);
	}
}

static void bytes_are_readable(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} rows[] = {
		{ 0, "0 B" },
		{ 17, "17 B" },
		{ 1023, "1023 B" },
		{ 1024, "1 KiB" },
		{ 3 * GIB / 2, "1.5 GiB" },
		{ 512 * MIB, "512 MiB" },
		{ 1023 * GIB + 900 * MIB, "1 TiB" },
		{ UINT64_C(1) << 60, "1 EiB" },
		{ UINT64_MAX - 1, "16 EiB" },
		{ NO_LIMIT, "unlimited" },
	};
	char text[TEXT_BYTES];

	(void)state;
	for (unsigned i = 0; i < LENGTH(rows); i++)
		assert_string_equal(text_bytes(text, rows[i].bytes), rows[i].text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(numbers_are_read),	    TEST(lists_are_read),   TEST(keys_are_found_whole),
		TEST(odd_files_do_no_harm), TEST(choices_are_read), TEST(bytes_are_readable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
