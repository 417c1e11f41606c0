/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/runs_record.h"
#include "commands/runs_table.h"
#include "harness/run/table.h"
#include "base/numbers.h"
#include "base/statistics.h"
#include "base/utf8.h"

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
	json_array_foreach(rows, i, row)
	{
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

static void show(const json_t *row, const char *key, char *text, size_t size)
{
	const char *unit = json_string_value(json_object_get(row, "unit"));

	if (json_is_number(json_object_get(row, key)))
		quantity_show(json_number_value(json_object_get(row, key)), unit, text, size);
	else
		snprintf(text, size, "-");
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
		json_array_foreach(rows, i, row)
		{
			cell(row, k, text);
			width[k] = utf8_width(text) > width[k] ? utf8_width(text) : width[k];
		}
	}
	print_row(c, NULL, width);
	printer_rule(c, 2, COLUMNS - 3);
	json_array_foreach(rows, i,
			   row) if (!strcmp(json_string_value(json_object_get(row, "benchmark")),
					    benchmark)) print_row(c, row, width);
}

static void print_tables(const json_t *found, const json_t *rows, enum format format,
			 uint64_t series, FILE *f)
{
	const struct printer c = { .to = f, .markdown = format == FORMAT_MARKDOWN };
	const json_t *benchmark;
	size_t i;

	json_array_foreach(found, i, benchmark)
	{
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
