/* SPDX-License-Identifier: Apache-2.0 */
/* What people write: numbers, lists, ranges, words, names they mistype. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/names.h"
#include "harness/values.h"
#include "machine/topology.h"

static uint64_t seventeen(const struct machine *m, enum profile p)
{
	(void)m, (void)p;
	return 17;
}

static const struct parameter count = { .name = "n",
					.help = "a number",
					.type = P_COUNT,
					.automatic = seventeen },
			      size = { .name = "size", .help = "bytes", .type = P_SIZE },
			      real = { .name = "x", .help = "a real", .type = P_REAL },
			      choice = { .name = "kernel",
					 .help = "what",
					 .type = P_CHOICE,
					 .choices = "sum,copy,triad" },
			      node = { .name = "to", .help = "a node", .type = P_NODE },
			      layout = { .name = "layout", .help = "where", .type = P_LAYOUT },
			      path = { .name = "points", .help = "a file", .type = P_PATH };

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
	refuse(&real, "1e308G", 2, "1e308G");
}

static void test_ranges(void **state)
{
	(void)state;
	expect(&size, "16K..256K*2", 5, "16384,32768,65536,131072,262144");
	expect(&size, "16K..256K", 5, "16384,32768,65536,131072,262144");
	expect(&count, "0..64+16", 5, "0,16,32,48,64");
	expect(&count, "1..10*1.5", 5, "1,2,3,5,8");
	expect(&count, "5..5*2", 1, "5");
	expect(&count, "4,4..8*2", 3, "4,4,8");
	expect(&count, "1..2*1.1", 2, "1,2");
	expect(&count, "999999999999..1000000000000+1", 2, "999999999999,1000000000000");
	expect(&count, "9007199254740991..9007199254740992+1", 2,
	       "9007199254740991,9007199254740992");
	refuse(&count, "1..2*1.0000000000000002", 2, "larger");
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
	static const struct {
		const char *text;
		double seconds;
	} good[] = {
		{ "60", 60 },
		{ "1.5", 1.5 },
		{ ".5", 0.5 },
		{ "1e-3", 1e-3 },
		{ "60s", 60 },
		{ "500ms", 0.5 },
		{ "7us", 7e-6 },
		{ "20ns", 20e-9 },
		{ "2m", 120 },
		{ "2min", 120 },
		{ "2MIN", 120 },
		{ "1.5h", 5400 },
		{ "0", 0 },
		{ "1h30m", 5400 },
		{ "1h0.5s", 3600.5 },
		{ "2min30s", 150 },
		{ "1h2m3s4ms5us6ns", 3723.004005006 },
		{ "1e3ms", 1 },
	};
	static const char *const bad[] = {
		"",	"s",	 "soon",   "1 day", "1d",    "-1s",    "+1",	   " 1",    "1 s",
		"1h30", "30m1h", "1m1min", "1s1s",  "1ms1s", "1hh",    "1minutes", "mi",    "1mi",
		"nan",	"inf",	 "1e999",  "0x10",  "0x10s", "1e308h", "1,5s",	   "1h-1m",
	};
	double s;
	char why[256];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		assert_int_equal(parse_seconds(good[i].text, &s, why, sizeof(why)), 0);
		assert_true(fabs(s - good[i].seconds) <= 1e-12 * good[i].seconds);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (!parse_seconds(bad[i], &s, why, sizeof(why)))
			fail_msg("'%s' is taken for a time", bad[i]);
		assert_non_null(strstr(why, bad[i]));
		assert_non_null(strstr(why, "1h30m"));
	}
}

/* What is too large for a number is none: records have no infinity. */
static void test_numbers_that_their_suffix_makes_infinite(void **state)
{
	(void)state;
	refuse(&real, "1e308G", 2, "1e308G");
	refuse(&count, "1e308k", 2, "1e308k");
	refuse(&size, "1e308T", 2, "1e308T");
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
	const char *const endless = "a-name-that-nobody-would-mistype-since-nobody-would-type-it-"
				    "at-all,-nor-read-it-to-its-end";

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_seconds),
		cmocka_unit_test(test_numbers_that_their_suffix_makes_infinite),
		cmocka_unit_test(test_nearest),
		cmocka_unit_test(test_numbers_for_people),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
