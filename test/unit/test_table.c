/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a run: both modes where a trial has no single value. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "harness/run/table.h"
#include "machine/topology/topology.h"

/* A trial whose headline metric has this name and the value 100, and whose time is 2 ns. */
static json_t *trial(const char *name, bool is_rate, json_t *modes)
{
	json_t *line = json_pack("{s:f, s:{s:o*}, s:[{s:s, s:s, s:b, s:f}]}", "cycle", 0.25e-9,
				 "samples", "modes", modes, "metrics", "name", name, "unit",
				 is_rate ? "B/s" : "s/load", "rate", is_rate, "value",
				 is_rate ? 100.0 : 2e-9);

	if (is_rate || strcmp(name, "time") != 0)
		json_array_append_new(json_object_get(line, "metrics"),
				      json_pack("{s:s, s:s, s:b, s:f}", "name", "time", "unit",
						"s/B", "rate", 0, "value", 2e-9));
	return line;
}

static json_t *two_modes(void)
{
	return json_pack("[{s:f, s:f}, {s:f, s:f}]", "time", 1e-9, "share", 0.625, "time", 4e-9,
			 "share", 0.375);
}

static void test_each_mode_has_its_number(void **state)
{
	static const struct {
		const char *name;
		bool is_rate;
		unsigned modes;
		const char *value[2];
	} table[] = {
		{ "time", false, 2, { "1.000 ns/load", "4.000 ns/load" } },
		{ "bandwidth", true, 2, { "200.0 B/s", "50.00 B/s" } },
		{ "asked", false, 0, { NULL, NULL } }, /* it does not follow from the time */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		json_t *line = trial(table[i].name, table[i].is_rate, two_modes());
		struct display_mode mode[DISPLAY_MODES];
		const unsigned n = display_modes(line, mode);

		assert_int_equal(n, table[i].modes);
		for (unsigned k = 0; k < n; k++) {
			assert_string_equal(mode[k].value, table[i].value[k]);
			assert_string_equal(mode[k].share, k ? "in 38 %" : "in 62 %");
			assert_string_equal(mode[k].cycles, k ? "16.0" : "4.0");
		}
		json_decref(line);
	}
}

/* In 80 columns, one row per mode: the second row has only its numbers. */
static void test_modes_are_rows(void **state)
{
	static const struct metric metrics[] = { TIME_METRIC("load") };
	static const struct variant variants[] = { { .name = "cycle" } };
	static const struct benchmark latency = { .name = "latency",
						  .protocol = { 1, "a walk" },
						  .unit = { "load", .cycles = true },
						  ROWS(metrics, metrics),
						  ROWS(variants, variants) };
	struct machine machine = { .nodes = 1 };
	struct planned planned = { .trial = { .benchmark = &latency,
					      .variant = &variants[0],
					      .machine = &machine,
					      .threads = 1 } };
	const struct plan plan = { .benchmark = &latency, .trial = &planned, .trials = 1 };
	json_t *line = trial("time", false, two_modes());
	char *text = NULL;
	struct table t;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	(void)state;
	json_object_update_new(line, json_pack("{s:s, s:[s]}", "status", "bimodal", "reasons",
					       "1.000 and 4.000 ns/load (62 % / 38 % of samples)"));
	table_open(&t, f, NULL, FORMAT_TABLE);
	table_begin(&t, &plan);
	table_row(&t, &planned, line);
	table_close(&t);
	fclose(f);
	assert_string_equal(text, "latency: a walk\n"
				  "1 thread\n"
				  "±: 95 % interval for this process and time (--runs N: others); "
				  "[range] if allocations are too few\n"
				  "variant           time        ± 95 %  cycles  status\n"
				  "cycle    1.000 ns/load       in 62 %     4.0  bimodal\n"
				  "         4.000 ns/load       in 38 %    16.0  \n"
				  "\n"
				  "1 bimodal: 1.000 and 4.000 ns/load (62 % / 38 % of samples)\n"
				  "bimodal: two values instead of one\n");
	json_decref(line);
	free(text);
}

static void test_a_single_value_has_no_modes(void **state)
{
	struct display_mode mode[DISPLAY_MODES];
	json_t *line = trial("time", false, NULL), *none = json_object();

	(void)state;
	assert_int_equal(display_modes(line, mode), 0);
	assert_int_equal(display_modes(none, mode), 0);
	json_decref(line);
	json_decref(none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_mode_has_its_number),
		cmocka_unit_test(test_a_single_value_has_no_modes),
		cmocka_unit_test(test_modes_are_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
