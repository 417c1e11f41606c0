/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a series, from lines of its record. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "commands/runs.h"

enum { SERIES = 0xab };

static void print_header(FILE *f, unsigned series, unsigned run)
{
	fprintf(f,
		"{\"type\":\"header\",\"run\":\"r%u\",\"series\":{\"id\":\"%016x\",\"run\":%u,"
		"\"of\":9}}\n"
		"{\"type\":\"benchmark\",\"name\":\"b\",\"metrics\":[{\"name\":\"time\",\"unit\":"
		"\"s\"}],\"ratios\":[{\"name\":\"gain\",\"of\":\"a\",\"to\":\"b\"},"
		"{\"name\":\"speed-up\",\"of\":\"fewest\",\"to\":\"most\"}]}\n",
		run, series, run);
}

static void print_trial(FILE *f, const char *id, const char *status, double time, double ratio)
{
	fprintf(f,
		"{\"type\":\"trial\",\"benchmark\":\"b\",\"id\":\"%s\",\"variant\":\"%s\","
		"\"parameters\":{\"size\":%d,\"pages\":\"base\"},\"threads\":1,\"status\":\"%s\","
		"\"metrics\":{\"time\":{\"value\":%g}}",
		id, id, id[0], status, time);
	if (ratio > 0)
		fprintf(f,
			",\"ratios\":[{\"ratio\":0,\"trial\":\"b\",\"value\":%g},"
			"{\"ratio\":1,\"to\":\"4\",\"trial\":\"b\",\"value\":2}]",
			ratio);
	fprintf(f, "}\n");
}

static FILE *a_record(char *path)
{
	const int file = mkstemp(path);
	FILE *f = file < 0 ? NULL : fdopen(file, "w");

	assert_non_null(f);
	return f;
}

static json_t *rows_of(FILE *f, const char *path)
{
	json_t *found, *rows;

	fclose(f);
	found = runs_read(path, SERIES);
	assert_non_null(found);
	rows = runs_rows(found);
	json_decref(found);
	unlink(path);
	assert_non_null(rows);
	return rows;
}

static const json_t *row_of(const json_t *rows, const char *id, const char *metric)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
		if (!strcmp(json_string_value(json_object_get(row, "id")), id) &&
		    !strcmp(json_string_value(json_object_get(row, "metric")), metric))
			return row;
	fail_msg("no row of %s %s", id, metric);
	return NULL;
}

static void assert_row(const json_t *row, double value, double low, double high, int ok, int of,
		       int tried)
{
	assert_float_equal(json_number_value(json_object_get(row, "value")), value, 1e-9);
	assert_float_equal(json_number_value(json_object_get(row, "low")), low, 1e-9);
	assert_float_equal(json_number_value(json_object_get(row, "high")), high, 1e-9);
	assert_int_equal(json_integer_value(json_object_get(row, "ok")), ok);
	assert_int_equal(json_integer_value(json_object_get(row, "of")), of);
	assert_int_equal(json_integer_value(json_object_get(row, "tried")), tried);
}

/* The 2nd lowest to the 2nd highest of nine values are an interval of 96 %. */
static void nine_runs_have_an_interval(void **state)
{
	char path[] = "/tmp/locus-runs-XXXXXX";
	FILE *f = a_record(path);
	const json_t *row;
	json_t *rows;

	(void)state;
	for (unsigned run = 1; run <= 9; run++) {
		print_header(f, SERIES, run);
		print_trial(f, "a", "ok", run, 10 * run);
		print_trial(f, "b", run == 4 ? "noisy" : "ok", 5, 0);
	}
	print_header(f, SERIES + 1, 1); /* another series */
	print_trial(f, "a", "ok", 1000, 0);
	rows = rows_of(f, path);
	row = row_of(rows, "a", "time");
	assert_row(row, 5, 2, 8, 9, 9, 9);
	assert_float_equal(json_number_value(json_object_get(row, "spread")), 8.0 / 5, 1e-9);
	assert_string_equal(json_string_value(json_object_get(row, "trial")), "a size=97");
	assert_row(row_of(rows, "b", "time"), 5, 5, 5, 8, 8, 9);
	/* a ratio needs both of its trials ok: without run 4 the median of 10 to 90 is 55 */
	assert_row(row_of(rows, "a", "gain a/b"), 55, 10, 90, 8, 8, 9);
	assert_row(row_of(rows, "a", "speed-up 1/4"), 2, 2, 2, 8, 8, 9);
	json_decref(rows);
}

/* Runs that are not ok count only if there are no others, and then there is no interval. */
static void runs_need_to_be_ok(void **state)
{
	char path[] = "/tmp/locus-runs-XXXXXX";
	FILE *f = a_record(path);
	json_t *rows;

	(void)state;
	for (unsigned run = 1; run <= 9; run++) {
		print_header(f, SERIES, run);
		print_trial(f, "a", "noisy", run, 0);
		print_trial(f, "b", run < 6 ? "unconverged" : run < 8 ? "ok" : "failed", run, 0);
	}
	rows = rows_of(f, path);
	assert_row(row_of(rows, "a", "time"), 5, 1, 9, 0, 9, 9);
	assert_row(row_of(rows, "b", "time"), 6.5, 6, 7, 2, 2, 9);
	json_decref(rows);
}

/* A run in two parts: results of the first stay if the second was interrupted. */
static void a_resumed_run_is_one(void **state)
{
	char path[] = "/tmp/locus-runs-XXXXXX";
	struct runs_last last;
	json_t *rows;
	FILE *f = a_record(path);

	(void)state;
	print_header(f, SERIES, 1);
	print_trial(f, "a", "ok", 1, 0);
	print_trial(f, "b", "interrupted", 100, 0);
	fprintf(f, "{\"type\":\"end\",\"trials\":{\"ok\":1,\"interrupted\":1}}\n");
	fflush(f);
	runs_read_last(path, &last);
	assert_true(last.series == SERIES && last.run == 1 && !last.complete);
	print_header(f, SERIES, 1);
	print_trial(f, "a", "interrupted", 100, 0);
	print_trial(f, "b", "ok", 2, 0);
	fprintf(f, "{\"type\":\"end\",\"trials\":{\"ok\":1}}\n");
	fflush(f);
	runs_read_last(path, &last);
	assert_true(last.series == SERIES && last.run == 1 && last.complete);
	rows = rows_of(f, path);
	assert_row(row_of(rows, "a", "time"), 1, 1, 1, 1, 1, 1);
	assert_row(row_of(rows, "b", "time"), 2, 2, 2, 1, 1, 1);
	json_decref(rows);
	runs_read_last(path, &last); /* the file is gone */
	assert_int_equal(last.run, 0);
}

static char *table_of(enum format format)
{
	char path[] = "/tmp/locus-runs-XXXXXX", *text = NULL;
	FILE *f = a_record(path), *to;
	size_t size;

	for (unsigned run = 1; run <= 2; run++) {
		print_header(f, SERIES, run);
		print_trial(f, "a", "ok", run, 0);
	}
	fclose(f);
	to = open_memstream(&text, &size);
	assert_non_null(to);
	runs_table(path, SERIES, format, to);
	fclose(to);
	unlink(path);
	return text;
}

static void tables(void **state)
{
	static const char *const expected[] = {
		[FORMAT_TABLE] =
			"\nb: runs of series 00000000000000ab\n"
			"trial  metric  median  between runs  runs ok  interval, or range\n"
			"a      time     1.5 s          67 %   2 of 2  range of 2: 1.0 s to 2.0 s"
			"\n",
		[FORMAT_CSV] = "benchmark,id,trial,metric,unit,value,low,high,spread,ok,of,tried\n"
			       "\"b\",\"a\",\"a\",\"time\",\"s\",1.5,1,2,0.666666667,2,2,2\n",
		[FORMAT_MARKDOWN] = "\nb: runs of series 00000000000000ab\n\n"
				    "| trial | metric | median | between runs | runs ok | "
				    "interval, or range |\n"
				    "|---|---|--:|--:|--:|---|\n"
				    "| a     | time   |  1.5 s |         67 % |  2 of 2 | "
				    "range of 2: 1.0 s to 2.0 s |\n",
	};

	(void)state;
	for (enum format i = FORMAT_TABLE; i <= FORMAT_MARKDOWN; i++) {
		char *text = table_of(i);

		assert_string_equal(text, expected[i]);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nine_runs_have_an_interval),
		cmocka_unit_test(runs_need_to_be_ok),
		cmocka_unit_test(a_resumed_run_is_one),
		cmocka_unit_test(tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
