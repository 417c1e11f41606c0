/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing what users write: numbers, lists, ranges, words, mistyped names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "harness/ask/parameters.h"
#include "machine/topology/topology.h"

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
	refuse(&count, "0..100000+1", 2, "more than 100000 values");
	refuse(&count, "1..99999+1,1..2", 2, "more than 100000 values");
	refuse(&size, "a..2", 2, "'a' is not a size");
	refuse(&size, "1..b", 2, "'b' is not a size");
	refuse(&count, "1..9+c", 2, "'c' is not a count");
	refuse(&count, "1..9*d", 2, "'1..9*d': the factor of a range must be a number above 1");
	refuse(&count, "1..9*1", 2, "above 1");
	refuse(&count, "9..1", 2, "'9..1' is an empty or endless range");
	refuse(&count, "1..9+0", 2, "endless");
	refuse(&count, "0..9", 2, "endless");
	refuse(&count, "..", 2, "'' is not a count");
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

/* A number that its suffix makes infinite is refused: records have no infinity. */
static void test_numbers_that_their_suffix_makes_infinite(void **state)
{
	(void)state;
	refuse(&real, "1e308G", 2, "1e308G");
	refuse(&count, "1e308k", 2, "1e308k");
	refuse(&size, "1e308T", 2, "1e308T");
}

static void test_nearest(void **state)
{
	const char *const names[] = { "single", "random", "static", "interleave", "threads" };
	const char *const endless = "a-name-that-nobody-would-mistype-since-nobody-would-type-it-"
				    "at-all,-nor-read-it-to-its-end";

	(void)state;
	assert_int_equal(names_nearest("singel", names, 5), 0);
	assert_int_equal(names_nearest("inter", names, 5), 3);
	assert_int_equal(names_nearest("thread-s", names, 5), 4);
	assert_int_equal(names_nearest("zzz", names, 5), -1);
	assert_int_equal(names_nearest("", names, 5), -1);
	assert_int_equal(names_nearest("x", names, 0), -1);
	assert_int_equal(names_nearest("a-name", &endless, 1), -1);
}

/* "first" and "all" skip nodes without memory; a node may still be given by number. */
static void test_nodes_without_memory(void **state)
{
	struct machine *m = two_nodes();
	struct values v;
	char why[512];

	(void)state;
	m->node[0].memory = 0;
	for (const char *const *word = (const char *const[]){ "first", "all", NULL }; *word;
	     word++) {
		assert_int_equal(values_parse(&node, *word, m, QUICK, &v, why, sizeof(why)), 0);
		assert_int_equal(v.n, 1);
		assert_int_equal(v.value[0].count, 1);
		values_free(&node, &v);
	}
	machine_close(m);
	expect(&node, "first", 1, "0");
	expect(&node, "0", 1, "0");
}

/* A parameter of type P_DERIVED is set by the benchmark's resolve(), not by the user. */
static void test_what_is_found_cannot_be_given(void **state)
{
	static const struct parameter found = { .name = "rows",
						.help = "found",
						.type = P_DERIVED };

	(void)state;
	refuse(&found, "3", 2, "");
}

/* The value beyond the limit must not leak; leak checkers see it. */
static void test_too_many(void **state)
{
	const size_t n = 2 * 100001;
	char *text = calloc(n, 1);

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i + 1 < n; i++)
		text[i] = i % 2 ? ',' : '1';
	refuse(&layout, text, 2, "too many values");
	refuse(&count, text, 2, "too many values");
	for (size_t i = 0; i + 4 < n; i += 4)
		memcpy(text + i, "all,", 4);
	refuse(&node, text, 2, "too many values");
	free(text);
}

static const char *shown(const struct parameter *p, union value v)
{
	static char text[VALUE_ROOM];

	return value_show(p, v, text, sizeof(text));
}

/* A zero with a special meaning is shown to users as a word, but stays 0 in identities. */
static void test_the_word_for_zero(void **state)
{
	static const struct parameter stride = { .name = "stride", .type = P_SIZE, .zero = "line" },
				      skew = { .name = "skew", .type = P_REAL, .zero = "none" },
				      plain = { .name = "plain", .type = P_SIZE };
	char text[VALUE_ROOM];

	(void)state;
	assert_string_equal(shown(&stride, (union value){ .count = 0 }), "line");
	assert_string_equal(shown(&stride, (union value){ .count = 64 }), "64 B");
	assert_string_equal(shown(&skew, (union value){ .real = 0 }), "none");
	assert_string_equal(shown(&skew, (union value){ .real = 0.5 }), "0.5");
	assert_string_equal(shown(&plain, (union value){ .count = 0 }), "0 B");
	assert_string_equal(value_print(&stride, (union value){ .count = 0 }, text, sizeof(text)),
			    "0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_numbers_that_their_suffix_makes_infinite),
		cmocka_unit_test(test_nearest),
		cmocka_unit_test(test_nodes_without_memory),
		cmocka_unit_test(test_what_is_found_cannot_be_given),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_the_word_for_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
