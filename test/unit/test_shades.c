/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix of times between CPUs, in shades. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/utf8.h"
#include "harness/run/table.h"

/* Every 2 CPUs share a core, every 8 a cache, every 32 a node. */
static double time_of(int a, int b)
{
	return a / 2 == b / 2 ? 10e-9 : a / 8 == b / 8 ? 40e-9 : a / 32 == b / 32 ? 90e-9 : 200e-9;
}

static double even_time(int a, int b)
{
	return (a + b) % 2 ? 50e-9 : 52e-9;
}

static json_t *made(int cpus, double (*time)(int, int))
{
	json_t *a = json_array(), *b = json_array(), *median = json_array();

	for (int i = 0; i < cpus; i++)
		for (int j = i + 1; j < cpus; j++) {
			json_array_append_new(a, json_integer(i));
			json_array_append_new(b, json_integer(j));
			json_array_append_new(median, json_real(time(i, j)));
		}
	return json_pack("{s:o, s:o, s:o}", "a", a, "b", b, "0.5", median);
}

/* To be freed. */
static char *printed(json_t *cells, int columns, const char *locale)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	setenv("LC_ALL", locale, 1);
	shades_print(cells, columns, f);
	fclose(f);
	json_decref(cells);
	return text;
}

static void a_small_matrix(void **state)
{
	char *text = printed(made(4, time_of), 80, "C.UTF-8");

	(void)state;
	assert_string_equal(text,
			    "    CPU 0 1 2 3\n"
			    "      0   ░░████\n"
			    "      1 ░░  ████\n"
			    "      2 ████  ░░\n"
			    "      3 ████░░  \n"
			    "      ░ 10.0 ns to 14.1 ns, ▒ to 20 ns, ▓ to 28 ns, █ to 40 ns\n");
	free(text);
}

static void plain_characters(void **state)
{
	char *text = printed(made(3, time_of), 80, "C");

	(void)state;
	assert_string_equal(text,
			    "    CPU 0 1 2\n"
			    "      0   ..##\n"
			    "      1 ..  ##\n"
			    "      2 ####  \n"
			    "      . 10.0 ns to 14.1 ns, + to 20 ns, % to 28 ns, # to 40 ns\n");
	free(text);
}

/* Noise has no shades. */
static void equal_pairs(void **state)
{
	char *text = printed(made(3, even_time), 80, "C");

	(void)state;
	assert_non_null(strstr(text, "      1 ..  ..\n"));
	assert_non_null(strstr(text, "      . 50 ns to 52 ns\n"));
	free(text);
}

static unsigned lines_within(char *text, int columns)
{
	unsigned lines = 0;

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), lines++)
		assert_true(utf8_width(line) <= columns);
	return lines;
}

/* 64 CPUs have a column each at 80 columns; of more CPUs some share a cell. */
static void many_cpus(void **state)
{
	char *text = printed(made(64, time_of), 80, "de_DE.utf8");

	(void)state;
	assert_non_null(strstr(text, "\n       0  ░▒▒▒▒▒▒▓"));
	assert_int_equal(lines_within(text, 80), 2 + 64 + 1);
	free(text);
	text = printed(made(128, time_of), 80, "C.UTF-8");
	assert_non_null(strstr(text, "; a cell: 2 x 2\n"));
	assert_int_equal(lines_within(text, 80), 3 + 64 + 1);
	free(text);
}

/* The levels say all of two CPUs. */
static void few_cpus(void **state)
{
	char *text = printed(made(2, time_of), 80, "C");

	(void)state;
	assert_string_equal(text, "");
	free(text);
}

static void without_times(void **state)
{
	json_t *cells = made(3, time_of), *none = json_pack("[n, n, n]");
	char *text;

	(void)state;
	json_object_set_new(cells, "0.5", none);
	text = printed(cells, 80, "C");
	assert_string_equal(text, "");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_small_matrix), cmocka_unit_test(plain_characters),
		cmocka_unit_test(equal_pairs),	  cmocka_unit_test(many_cpus),
		cmocka_unit_test(few_cpus),	  cmocka_unit_test(without_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
