/* SPDX-License-Identifier: Apache-2.0 */
/* The table at the end of a series: how much its runs differ, for each trial and metric. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "base/statistics.h"
#include "base/utf8.h"
#include "commands/runs.h"
#include "harness/record/record.h"
#include "harness/run/table.h"

enum { RATIO_NAME = 128 };

static const char *text_in(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static bool is_ok(const json_t *line)
{
	return !strcmp(text_in(line, "status"), "ok");
}

/* Whether the trial has values of its own, even if they are doubtful. */
static bool is_measured(const json_t *line)
{
	const char *status = text_in(line, "status");

	return is_ok(line) || !strcmp(status, "unconverged") || !strcmp(status, "bimodal") ||
	       !strcmp(status, "noisy");
}

/* ---- which trial ---- */

static json_t *first_line(const json_t *lines)
{
	return json_object_iter_value(json_object_iter((json_t *)lines));
}

/* Whether a key of the trials' lines, or of their parameters, has several values. */
static bool varies(const json_t *trials, const char *in, const char *key)
{
	const json_t *first = NULL, *lines;
	const char *id;

	json_object_foreach((json_t *)trials, id, lines) {
		const json_t *line = first_line(lines),
			     *one = json_object_get(in ? json_object_get(line, in) : line, key);

		if (first && one && !json_equal((json_t *)first, (json_t *)one))
			return true;
		first = one ? one : first;
	}
	return false;
}

static void print_value(FILE *f, const char *key, const json_t *value)
{
	if (json_is_string(value))
		fprintf(f, " %s=%s", key, json_string_value(value));
	else if (json_is_integer(value))
		fprintf(f, " %s=%lld", key, (long long)json_integer_value(value));
	else
		fprintf(f, " %s=%g", key, json_number_value(value));
}

/* "chase size=16384 threads=2": the variant, and what else differs between the trials. */
static json_t *name_of(const json_t *trials, const json_t *line)
{
	const json_t *value, *parameters = json_object_get(line, "parameters");
	static const char *const own[] = { "threads", "bind" };
	char *text = NULL;
	const char *key;
	json_t *name;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return json_null();
	fputs(text_in(line, "variant"), f);
	json_object_foreach((json_t *)parameters, key, value)
		if (varies(trials, "parameters", key))
			print_value(f, key, value);
	for (unsigned i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (varies(trials, NULL, own[i]) && (value = json_object_get(line, own[i])))
			print_value(f, own[i], value);
	fclose(f);
	name = json_string(text);
	free(text);
	return name;
}

/* ---- its values in the runs ---- */

struct results {
	double *of;
	size_t n, ok;
};

/* Values of trials that are not ok count only while there are no others. */
static void add(struct results *v, double value, bool ok)
{
	double *grown;

	if (ok && !v->ok)
		v->n = 0;
	if (v->ok && !ok)
		return;
	grown = realloc(v->of, (v->n + 1) * sizeof(*grown));
	if (!grown)
		return;
	v->of = grown;
	v->of[v->n++] = value;
	v->ok += ok;
}

static json_t *make_row(const json_t *benchmark, const json_t *lines, json_t *name,
			const char *metric, const char *unit, struct results *v)
{
	double low = NAN, high = NAN, value = NAN, spread;

	statistics_sort(v->of, v->n);
	if (v->n) {
		value = statistics_quantile(v->of, v->n, 0.5);
		low = v->of[0];
		high = v->of[v->n - 1];
	}
	spread = v->n > 1 ? (high - low) / value : NAN;
	if (v->ok)
		statistics_median_interval(v->of, v->n, &low, &high);
	return json_pack("{s:s, s:s, s:O, s:s, s:s, s:o, s:o, s:o, s:o, s:i, s:i, s:i}",
			 "benchmark", text_in(benchmark, "name"), "id",
			 text_in(first_line(lines), "id"), "trial", name, "metric", metric, "unit",
			 unit, "value", record_number(value), "low", record_number(low), "high",
			 record_number(high), "spread", record_number(spread), "ok", (int)v->ok,
			 "of", (int)v->n, "tried", (int)json_object_size(lines));
}

static void add_metric(json_t *rows, const json_t *benchmark, const json_t *lines, json_t *name,
		       const json_t *metric)
{
	const char *key = text_in(metric, "name"), *run;
	struct results v = { 0 };
	bool reported = false;
	const json_t *line;

	json_object_foreach((json_t *)lines, run, line) {
		const json_t *value = json_object_get(
			json_object_get(json_object_get(line, "metrics"), key), "value");

		reported |= json_is_number(value);
		if (is_measured(line) && json_is_number(value))
			add(&v, json_number_value(value), is_ok(line));
	}
	if (reported)
		json_array_append_new(
			rows, make_row(benchmark, lines, name, key, text_in(metric, "unit"), &v));
	free(v.of);
}

/* The ratio of another run that corresponds to this one; NULL: none does. */
static const json_t *same_ratio(const json_t *line, const json_t *ratio)
{
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(line, "ratios"), i, one)
		if (json_equal(json_object_get(one, "ratio"), json_object_get(ratio, "ratio")) &&
		    !strcmp(text_in(one, "trial"), text_in(ratio, "trial")))
			return one;
	return NULL;
}

/* "slowdown dense/padded", or "speed-up 1/8" of numbers of threads. */
static void name_ratio(const json_t *benchmark, const json_t *line, const json_t *ratio,
		       char text[RATIO_NAME])
{
	const json_t *told =
		json_array_get(json_object_get(json_object_get(benchmark, "line"), "ratios"),
			       (size_t)json_integer_value(json_object_get(ratio, "ratio")));

	if (json_object_get(ratio, "to"))
		snprintf(text, RATIO_NAME, "%s %lld/%s", text_in(told, "name"),
			 (long long)json_integer_value(json_object_get(line, "threads")),
			 text_in(ratio, "to"));
	else
		snprintf(text, RATIO_NAME, "%s %s/%s", text_in(told, "name"), text_in(told, "of"),
			 text_in(told, "to"));
}

static void add_ratio(json_t *rows, const json_t *benchmark, const json_t *lines, json_t *name,
		      const json_t *ratio)
{
	const json_t *line, *others = json_object_get(json_object_get(benchmark, "trials"),
						      text_in(ratio, "trial"));
	struct results v = { 0 };
	const char *run;
	char key[RATIO_NAME];

	json_object_foreach((json_t *)lines, run, line) {
		const json_t *value = json_object_get(same_ratio(line, ratio), "value"),
			     *other = json_object_get(others, run);

		if (json_is_number(value) && is_measured(line) && is_measured(other))
			add(&v, json_number_value(value), is_ok(line) && is_ok(other));
	}
	name_ratio(benchmark, first_line(lines), ratio, key);
	json_array_append_new(rows, make_row(benchmark, lines, name, key, "", &v));
	free(v.of);
}

static void add_trial(json_t *rows, const json_t *benchmark, const json_t *lines)
{
	json_t *name = name_of(json_object_get(benchmark, "trials"), first_line(lines));
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(json_object_get(benchmark, "line"), "metrics"), i, one)
		add_metric(rows, benchmark, lines, name, one);
	json_array_foreach(json_object_get(first_line(lines), "ratios"), i, one)
		add_ratio(rows, benchmark, lines, name, one);
	json_decref(name);
}

json_t *runs_rows(const json_t *found)
{
	json_t *rows = json_array();
	const json_t *benchmark, *lines;
	const char *id;
	size_t i;

	json_array_foreach(found, i, benchmark)
		json_object_foreach(json_object_get(benchmark, "trials"), id, lines)
			add_trial(rows, benchmark, lines);
	return rows;
}

/* ---- for programs ---- */

static const char *const keys[] = { "benchmark", "id",	 "trial",  "metric", "unit", "value",
				    "low",	 "high", "spread", "ok",     "of",   "tried" };
enum { KEYS = sizeof(keys) / sizeof(*keys) };

static void print_csv(const json_t *rows, FILE *f)
{
	const json_t *row;
	size_t i;

	for (unsigned k = 0; k < KEYS; k++)
		fprintf(f, "%s%s", k ? "," : "", keys[k]);
	fputc('\n', f);
	json_array_foreach(rows, i, row) {
		for (unsigned k = 0; k < KEYS; k++) {
			const json_t *value = json_object_get(row, keys[k]);

			fputs(k ? "," : "", f);
			if (json_is_string(value))
				fprintf(f, "\"%s\"", json_string_value(value));
			else if (json_is_integer(value))
				fprintf(f, "%lld", (long long)json_integer_value(value));
			else if (json_is_real(value))
				fprintf(f, "%.9g", json_real_value(value));
		}
		fputc('\n', f);
	}
}

/* ---- for people ---- */

enum { COLUMNS = 6, CELL = 160 };
static const char *const titles[COLUMNS] = { "trial",	     "metric",	"median",
					     "between runs", "runs ok", "interval, or range" };

/* The median or an end of its interval, with the digits that the interval supports. */
static void show(const json_t *row, const char *key, char *text, size_t size)
{
	const struct display_number n = { record_real(json_object_get(row, "value")),
					  record_real(json_object_get(row, "low")),
					  record_real(json_object_get(row, "high")), false };
	const bool known = json_integer_value(json_object_get(row, "of")) > 1;

	quantity_show_within(record_real(json_object_get(row, key)), known ? display_doubt(n) : NAN,
			     json_string_value(json_object_get(row, "unit")), text, size);
}

static void cell(const json_t *row, unsigned column, char text[CELL])
{
	const json_t *spread = json_object_get(row, "spread");
	const int ok = (int)json_integer_value(json_object_get(row, "ok")),
		  of = (int)json_integer_value(json_object_get(row, "of")),
		  tried = (int)json_integer_value(json_object_get(row, "tried"));
	char low[CELL / 3], high[CELL / 3], range[32] = "";

	snprintf(text, CELL, "-");
	if (column < 2)
		snprintf(text, CELL, "%s",
			 json_string_value(json_object_get(row, column ? "metric" : "trial")));
	else if (column == 2)
		show(row, "value", text, CELL);
	else if (column == 3 && json_is_number(spread))
		snprintf(text, CELL, "%.2g %%", 100 * json_number_value(spread));
	else if (column == 4)
		snprintf(text, CELL, "%d of %d", ok, tried);
	else if (column == 5 && of > 1) {
		show(row, "low", low, sizeof(low));
		show(row, "high", high, sizeof(high));
		if (ok < LEAST_VALUES)
			snprintf(range, sizeof(range), "range of %d: ", of);
		snprintf(text, CELL, "%s%s to %s", range, low, high);
	}
}

static void print_row(const struct printer *c, const json_t *row, const int *width)
{
	for (unsigned i = 0; i < COLUMNS; i++) {
		char text[CELL];

		if (row)
			cell(row, i, text);
		else
			snprintf(text, CELL, "%s", titles[i]);
		if (i + 1 == COLUMNS)
			printer_last(c, text, NULL);
		else if (i < 2)
			printer_left(c, text, width[i]);
		else
			printer_right(c, text, width[i]);
	}
}

static void print_rows(const struct printer *c, const json_t *rows, const char *benchmark)
{
	int width[COLUMNS];
	const json_t *row;
	char text[CELL];
	size_t i;

	for (unsigned k = 0; k < COLUMNS; k++) {
		width[k] = utf8_width(titles[k]);
		json_array_foreach(rows, i, row) {
			cell(row, k, text);
			width[k] = utf8_width(text) > width[k] ? utf8_width(text) : width[k];
		}
	}
	print_row(c, NULL, width);
	printer_rule(c, 2, COLUMNS - 3);
	json_array_foreach(rows, i, row)
		if (!strcmp(json_string_value(json_object_get(row, "benchmark")), benchmark))
			print_row(c, row, width);
}

static void print_tables(const json_t *found, const json_t *rows, enum format format,
			 uint64_t series, FILE *f)
{
	const struct printer c = { .to = f, .markdown = format == FORMAT_MARKDOWN };
	const json_t *benchmark;
	size_t i;

	json_array_foreach(found, i, benchmark) {
		const char *name = json_string_value(json_object_get(benchmark, "name"));

		if (json_object_size(json_object_get(benchmark, "trials"))) {
			fprintf(f, "\n%s: runs of series %016" PRIx64 "\n%s", name, series,
				c.markdown ? "\n" : "");
			print_rows(&c, rows, name);
		}
	}
}

void runs_table(const char *record, uint64_t series, enum format format, FILE *f)
{
	json_t *found = runs_read(record, series), *rows = found ? runs_rows(found) : NULL;

	if (format == FORMAT_JSON && rows) {
		json_dumpf(rows, f, JSON_INDENT(1));
		fputc('\n', f);
	} else if (format == FORMAT_CSV && rows) {
		print_csv(rows, f);
	} else if (json_array_size(rows)) {
		print_tables(found, rows, format, series, f);
	}
	json_decref(rows);
	json_decref(found);
}
