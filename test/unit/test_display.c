/* SPDX-License-Identifier: Apache-2.0 */
/* How tables show the numbers of a trial's line, and the rows of ratios. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "harness/run/table.h"

static json_t *parse(const char *text)
{
	json_t *parsed = json_loads(text, 0, NULL);

	assert_non_null(parsed);
	return parsed;
}

static void interval(const char *metric, const char *expected)
{
	json_t *m = parse(metric);
	char text[TABLE_CELL];

	assert_string_equal(display_interval(m, text), expected);
	json_decref(m);
}

/* The wider half; if it would mislead, both ends, in the unit of the value. */
static void an_interval_is_a_half_or_its_ends(void **state)
{
	(void)state;
	interval("{\"value\": 3.24, \"unit\": \"s\", \"ci\": [3.0, 3.5]}", "±8.0 %");
	interval("{\"value\": 2e-9, \"unit\": \"s/op\", \"ci\": [1.9e-9, 2.06e-9]}", "±5.0 %");
	interval("{\"value\": 2e-9, \"unit\": \"s/op\", \"ci\": [1e-9, 2e-9]}", "±50.0 %");
	interval("{\"value\": 300e-12, \"unit\": \"s/op\", \"ci\": [293e-12, 1284e-12]}",
		 "293 to 1284");
	interval("{\"value\": 1.56, \"ci\": [0.0771, 4.68]}", "0.077 to 4.7");
	interval("{\"value\": 24.2, \"unit\": \"1\", \"ci\": [0.81, 240.9]}", "0.81 to 241");
	interval("{\"value\": null, \"unit\": \"s\", \"ci\": null}", "-");
	interval("{\"value\": 3.0, \"unit\": \"s\", \"ci\": null, \"range\": null}", "-");
}

/* With too few allocations there is only a range: in brackets. */
static void a_range_is_in_brackets(void **state)
{
	(void)state;
	interval("{\"value\": 2.0, \"unit\": \"s\", \"ci\": null,"
		 " \"range\": {\"of\": 5, \"low\": 1.9, \"high\": 2.02}}",
		 "(±5.0 %)");
	interval("{\"value\": 1.4, \"ci\": null,"
		 " \"range\": {\"of\": 5, \"low\": 0.87, \"high\": 24.2}}",
		 "(0.87 to 24)");
}

/* A ratio has the graver status of its two trials, whichever of them comes first. */
static void a_ratio_has_the_graver_status(void **state)
{
	static const char *const trials[] = {
		"{\"id\": \"a\", \"status\": \"ok\", \"ratios\": [{\"name\": \"slowdown\", "
		"\"metric\": \"time\", \"of\": \"dense\", \"to\": \"padded\", \"parameter\": "
		"\"layout\", \"trial\": \"c\", \"value\": 65.3, \"ci\": [60.0, 70.0]}, {\"name\": "
		"\"slowdown\", \"metric\": \"time\", \"of\": \"dense\", \"to\": \"best\", "
		"\"parameter\": \"layout\", \"trial\": \"b\", \"value\": 1.0, \"ci\": [0.99, "
		"1.01]}]}",
		"{\"id\": \"b\", \"status\": \"unconverged\", \"ratios\": []}",
		"{\"id\": \"c\", \"status\": \"noisy\", \"ratios\": [{\"name\": \"gain\", "
		"\"metric\": \"time\", \"of\": \"padded\", \"to\": \"best\", \"parameter\": "
		"\"layout\", \"trial\": \"b\", \"value\": 200.0, \"ci\": [190, 210]}]}",
	};
	const struct columns none = { 0 };
	struct ratio_rows rows = { 0 };
	struct printer cells = { 0 };
	char *text = NULL;
	size_t size;

	(void)state;
	cells.to = open_memstream(&text, &size);
	assert_non_null(cells.to);
	for (unsigned i = 0; i < sizeof(trials) / sizeof(*trials); i++) {
		json_t *line = parse(trials[i]);

		ratio_rows_add(&rows, &none, NULL, line);
		json_decref(line);
	}
	ratio_rows_print(&rows, &cells);
	ratio_rows_free(&rows);
	fclose(cells.to);
	assert_string_equal(text, "\n"
				  "ratio                  value  ± 95 %  status\n"
				  "slowdown dense/padded     65  ±8.1 %  noisy\n"
				  "slowdown dense/best     1.00  ±1.0 %  unconverged\n"
				  "gain padded/best         200  ±5.0 %  noisy\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_interval_is_a_half_or_its_ends),
		cmocka_unit_test(a_range_is_in_brackets),
		cmocka_unit_test(a_ratio_has_the_graver_status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
