/* SPDX-License-Identifier: Apache-2.0 */
/* Rows for programs: CSV and JSON. */
#include <stdlib.h>
#include <string.h>

#include "harness/run/table.h"

/* ---- CSV ---- */

/* A cell as in RFC 4180, in which commas separate cells. */
static void print_text(const char *text, FILE *f)
{
	const bool quoted = strpbrk(text, ",\"\n\r") != NULL;

	if (quoted)
		fputc('"', f);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', f);
		fputc(*text, f);
	}
	if (quoted)
		fputc('"', f);
}

/* Prints nothing if the number is not known. */
static void print_number(const json_t *number, FILE *f)
{
	if (json_is_integer(number))
		fprintf(f, "%lld", (long long)json_integer_value(number));
	else if (json_is_number(number))
		fprintf(f, "%.9g", json_number_value(number));
}

static void print_member(const json_t *object, const char *key, FILE *f)
{
	const json_t *member = json_object_get(object, key);

	if (json_is_string(member))
		print_text(json_string_value(member), f);
	else
		print_number(member, f);
	fputc(',', f);
}

/* "size=65536 pages=base" */
static void print_parameters(const json_t *parameters, FILE *f)
{
	char *text = NULL;
	const char *key, *blank = "";
	const json_t *value;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return;
	json_object_foreach((json_t *)parameters, key, value) {
		fprintf(to, "%s%s=", blank, key);
		if (json_is_string(value))
			fprintf(to, "%s", json_string_value(value));
		else
			print_number(value, to);
		blank = " ";
	}
	fclose(to);
	print_text(text ? text : "", f);
	free(text);
}

static void print_trial(const json_t *trial, FILE *f)
{
	print_member(trial, "benchmark", f);
	print_member(trial, "variant", f);
	print_parameters(json_object_get(trial, "parameters"), f);
	fputc(',', f);
	print_member(trial, "threads", f);
}

/* The value and the interval of a metric or a ratio. */
static void print_value(const json_t *of, FILE *f)
{
	print_member(of, "value", f);
	print_number(json_array_get(json_object_get(of, "ci"), 0), f);
	fputc(',', f);
	print_number(json_array_get(json_object_get(of, "ci"), 1), f);
	fputc(',', f);
}

static const json_t *local_of(const json_t *trial)
{
	return json_object_get(json_object_get(trial, "placement"), "local_share");
}

/* Prints when the trial was measured, and ends the line. */
static void print_time(const json_t *trial, FILE *f)
{
	const json_t *measured = json_object_get(trial, "measured");

	print_number(json_array_get(measured, 0), f);
	fputc(',', f);
	print_number(json_array_get(measured, 1), f);
	fputc('\n', f);
}

static void print_ratio(const json_t *trial, const json_t *ratio, FILE *f)
{
	char name[256];

	snprintf(name, sizeof(name), "%s %s/%s of %s",
		 json_string_value(json_object_get(ratio, "name")),
		 json_string_value(json_object_get(ratio, "of")),
		 json_string_value(json_object_get(ratio, "to")),
		 json_string_value(json_object_get(ratio, "metric")));
	print_trial(trial, f);
	print_text(name, f);
	fprintf(f, ",1,");
	print_value(ratio, f);
	fprintf(f, ",,");
	print_text(json_string_value(json_object_get(trial, "status")), f);
	fprintf(f, ",,");
	print_time(trial, f);
}

void flat_csv(const json_t *trial, bool first, FILE *f)
{
	const json_t *metric = json_array_get(json_object_get(trial, "metrics"), 0), *ratio;
	const char *reason =
		json_string_value(json_array_get(json_object_get(trial, "reasons"), 0));
	size_t i;

	if (first)
		fprintf(f, "benchmark,variant,parameters,threads,metric,unit,value,low,high,cycles,"
			   "local,status,reason,begin,end\n");
	print_trial(trial, f);
	print_member(metric, "name", f);
	print_member(metric, "unit", f);
	print_value(metric, f);
	print_member(trial, "cycles", f);
	print_number(local_of(trial), f);
	fputc(',', f);
	print_member(trial, "status", f);
	print_text(reason ? reason : "", f);
	fputc(',', f);
	print_time(trial, f);
	json_array_foreach(json_object_get(trial, "ratios"), i, ratio)
		print_ratio(trial, ratio, f);
}

/* ---- JSON ---- */

void flat_json(const json_t *trial, bool first, FILE *f)
{
	static const char *const kept[] = { "benchmark", "variant", "parameters", "threads",
					    "metrics",	 "cycles",  "status",	  "reasons",
					    "notes",	 "ratios",  "measured" };
	json_t *row = json_object();

	for (unsigned i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		json_object_set(row, kept[i], json_object_get(trial, kept[i]));
	json_object_set(row, "local", (json_t *)local_of(trial));
	json_object_set(row, "modes", json_object_get(json_object_get(trial, "samples"), "modes"));
	fputs(first ? "[\n" : ",\n", f);
	json_dumpf(row, f, JSON_COMPACT | JSON_REAL_PRECISION(9));
	json_decref(row);
}

void flat_json_end(bool none, FILE *f)
{
	fputs(none ? "[]\n" : "\n]\n", f);
}
