/* SPDX-License-Identifier: Apache-2.0 */
/* What people write: numbers, lists, ranges, words, names they mistype; and a fuzzer that writes what nobody would. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "machine/names.h"
#include "harness/values.h"
#include "machine/topology.h"

static uint64_t seventeen(const struct machine *m, enum profile p)
{
	(void)m, (void)p;
	return 17;
}

static const struct parameter count = { .name = "n", .help = "a number", .type = COUNT, .automatic = seventeen },
			      size = { .name = "size", .help = "bytes", .type = SIZE },
			      real = { .name = "x", .help = "a real", .type = REAL },
			      choice = { .name = "kernel", .help = "what", .type = CHOICE, .choices = "sum,copy,triad" },
			      node = { .name = "to", .help = "a node", .type = NODE },
			      layout = { .name = "layout", .help = "where", .type = LAYOUT },
			      path = { .name = "points", .help = "a file", .type = PATH };
static const struct parameter *const all[] = { &count, &size, &real, &choice, &node, &layout, &path };

static struct machine *two_nodes(void)
{
	const char *error;
	struct machine *m = machine_open("node:2 core:4 pu:1", &error);

	assert_non_null(m);
	return m;
}

static void expect(const struct parameter *p, const char *text, unsigned n, const char *canonical)
{
	struct machine *m = two_nodes();
	struct values v;
	char why[512], all[512] = "", one[64];

	assert_int_equal(values_parse(p, text, m, QUICK, &v, why, sizeof(why)), 0);
	assert_int_equal(v.n, n);
	for (unsigned i = 0; i < n; i++) {
		strcat(all, i ? "," : "");
		strcat(all, value_print(p, v.value[i], one, sizeof(one)));
	}
	assert_string_equal(all, canonical);
	values_free(p, &v);
	machine_close(m);
}

static void refuse(const struct parameter *p, const char *text, int status, const char *word)
{
	struct machine *m = two_nodes();
	struct values v;
	char why[512];

	assert_int_equal(values_parse(p, text, m, QUICK, &v, why, sizeof(why)), status);
	assert_non_null(strstr(why, word));
	assert_int_equal(v.n, 0);
	machine_close(m);
}

static void test_numbers(void **state)
{
	(void)state;
	expect(&count, "1,2,4", 3, "1,2,4");
	expect(&count, "1e9", 1, "1000000000");
	expect(&count, "10k,2M", 2, "10000,2000000");
	expect(&count, "auto", 1, "17");
	expect(&size, "64K,1.5M,8GiB,3B", 4, "65536,1572864,8589934592,3");
	expect(&real, "0.5,1e-3,2k", 3, "0.5,0.001,2000");
	refuse(&count, "1.5", 2, "1.5");
	refuse(&count, "1K9", 2, "1K9");
	refuse(&size, "auto", 2, "auto");
	refuse(&size, "1e300", 2, "1e300");
	refuse(&real, "inf", 2, "inf");
	refuse(&real, "-1", 2, "-1");
}

static void test_ranges(void **state)
{
	(void)state;
	expect(&size, "16K..256K*2", 5, "16384,32768,65536,131072,262144");
	expect(&size, "16K..256K", 5, "16384,32768,65536,131072,262144");
	expect(&count, "0..64+16", 5, "0,16,32,48,64");
	expect(&count, "1..10*1.5", 5, "1,2,3,5,8");
	expect(&count, "5..5*2", 1, "5");
}

static void test_words(void **state)
{
	(void)state;
	expect(&choice, "triad,sum", 2, "triad,sum");
	expect(&node, "all", 2, "0,1");
	expect(&node, "1", 1, "1");
	expect(&layout, "packed,8+8", 2, "packed,8+8");
	expect(&path, "a.npy,b\\,c.npy,d\\e,\\,", 4, "a.npy,b,c.npy,d\\e,,");
	refuse(&path, "a,", 2, "empty");
	refuse(&choice, "tirad", 2, "did you mean 'triad'");
	refuse(&choice, "quicksort", 2, "sum,copy,triad");
	refuse(&node, "2", 3, "there is 0, 1");
	refuse(&node, "x", 2, "all");
	refuse(&count, "1,,2", 2, "empty");
	refuse(&count, "", 2, "empty");
	refuse(&count, "1,", 2, "empty");
}

static void test_seconds(void **state)
{
	double s;
	char why[256];

	(void)state;
	assert_int_equal(parse_seconds("60s", &s, why, sizeof(why)), 0);
	assert_true(s == 60);
	assert_int_equal(parse_seconds("2m", &s, why, sizeof(why)), 0);
	assert_true(s == 120);
	assert_int_equal(parse_seconds("500ms", &s, why, sizeof(why)), 0);
	assert_true(fabs(s - 0.5) < 1e-12);
	assert_int_equal(parse_seconds("1.5", &s, why, sizeof(why)), 0);
	assert_true(s == 1.5);
	assert_int_equal(parse_seconds("1 day", &s, why, sizeof(why)), -1);
}

static void shown(double x, const char *unit, const char *text)
{
	char buffer[64];

	assert_string_equal(show_number(x, unit, buffer, sizeof(buffer)), text);
}

static void test_numbers_for_people(void **state)
{
	(void)state;
	shown(12.3456e9, "B/s", "12.35 GB/s");
	shown(0.0216, "s/pass", "21.60 ms/pass");
	shown(999.96, "B", "1.000 kB");
	shown(0, "s", "0.000 s");
	shown(1, "s", "1.000 s");
	shown(0.99996, "s", "1.000 s");
	shown(-2e-9, "s", "-2.000 ns");
	shown(0.25, "1", "0.25");
	shown(NAN, "s", "-");
}

static void test_nearest(void **state)
{
	const char *const names[] = { "single", "random", "static", "interleave", "threads" };
	const char *const endless = "a-name-that-nobody-would-mistype-since-nobody-would-type-it-at-all,-nor-read-it-to-its-end";

	(void)state;
	assert_int_equal(nearest("singel", names, 5), 0);
	assert_int_equal(nearest("inter", names, 5), 3);
	assert_int_equal(nearest("thread-s", names, 5), 4);
	assert_int_equal(nearest("zzz", names, 5), -1);
	assert_int_equal(nearest("", names, 5), -1);
	assert_int_equal(nearest("x", names, 0), -1);
	assert_int_equal(nearest("a-name", &endless, 1), -1);
}

/* The one too many must not leak, as checkers of memory see. */
static void test_too_many(void **state)
{
	const size_t n = 2 * 100001;
	char *text = calloc(n, 1);

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i + 1 < n; i++)
		text[i] = i % 2 ? ',' : '1';
	refuse(&layout, text, 2, "too many values");
	free(text);
}

/* Nothing is read or written where it should not be (sanitizers watch), nothing hangs, and what is refused has a sentence. */
static void test_fuzz(void **state)
{
	static const char letters[] = "0123456789..**++,,eEkKMGTiBauto sumcpyriadl-xn\xff";
	struct machine *m = two_nodes();
	unsigned seed = 1;

	(void)state;
	for (unsigned turn = 0; turn < 20000; turn++) {
		const struct parameter *p = all[turn % (sizeof(all) / sizeof(*all))];
		struct values v;
		char text[40], why[512], shown[64];
		size_t length = (size_t)rand_r(&seed) % (sizeof(text) - 1);
		int status;

		for (size_t i = 0; i < length; i++)
			text[i] = letters[(size_t)rand_r(&seed) % (sizeof(letters) - 1)];
		text[length] = 0;
		status = values_parse(p, text, m, QUICK, &v, why, sizeof(why));
		assert_true(status == 0 || status == 2 || status == 3);
		assert_true(status == 0 ? v.n > 0 : v.n == 0 && strlen(why) > 10);
		for (unsigned i = 0; i < v.n && i < 5; i++)
			value_show(p, v.value[i], shown, sizeof(shown));
		values_free(p, &v);
	}
	machine_close(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers), cmocka_unit_test(test_ranges),		     cmocka_unit_test(test_words),  cmocka_unit_test(test_seconds),
		cmocka_unit_test(test_nearest), cmocka_unit_test(test_numbers_for_people), cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_fuzz),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
