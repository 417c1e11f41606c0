/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a trial line as people read them, and the details beneath its row. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "base/numbers.h"
#include "harness/record/record.h"
#include "harness/run/table.h"

/* % of the value: the half of a wider interval would not describe its other half. */
#define WIDE 50

static const char *unit_of(const json_t *metric)
{
	const char *unit = json_string_value(json_object_get(metric, "unit"));

	return unit ? unit : "1";
}

struct display_number display_number(const json_t *metric)
{
	const json_t *ci = json_object_get(metric, "ci"), *range = json_object_get(metric, "range");
	const bool few = !json_is_array(ci);

	return (struct display_number){
		.value = record_real(json_object_get(metric, "value")),
		.low = record_real(few ? json_object_get(range, "low") : json_array_get(ci, 0)),
		.high = record_real(few ? json_object_get(range, "high") : json_array_get(ci, 1)),
		.few = few,
	};
}

double display_doubt(struct display_number n)
{
	return isfinite(n.low + n.high) ? fmax(n.value - n.low, n.high - n.value) : NAN;
}

char *display_value(const json_t *metric, char text[TABLE_CELL])
{
	const struct display_number n = display_number(metric);

	return quantity_show_within(n.value, display_doubt(n), unit_of(metric), text, TABLE_CELL);
}

/* The number of decimals that gives two digits in all; large numbers keep all before the point. */
static int two_digits(double x)
{
	return x ? (int)fmax(0, 1 - floor(log10(fabs(x)))) : 0;
}

static void show_ends(const json_t *metric, double low, double high, char *text, size_t size)
{
	const double scale =
		quantity_scale(record_real(json_object_get(metric, "value")), unit_of(metric));

	low /= scale;
	high /= scale;
	snprintf(text, size, "%.*f to %.*f", two_digits(low), low, two_digits(high), high);
}

char *display_interval(const json_t *metric, char text[TABLE_CELL])
{
	const struct display_number n = display_number(metric);
	const double share = 100 * display_doubt(n) / fabs(n.value);
	char ends[TABLE_CELL - 2];

	snprintf(text, TABLE_CELL, "-");
	if (!isfinite(share))
		return text;
	if (share > WIDE)
		show_ends(metric, n.low, n.high, ends, sizeof(ends));
	else
		snprintf(ends, sizeof(ends), "±%.1f %%", share);
	snprintf(text, TABLE_CELL, n.few ? "(%s)" : "%s", ends);
	return text;
}

char *display_cycles(double cycles, char text[TABLE_CELL])
{
	if (isfinite(cycles))
		snprintf(text, TABLE_CELL, "%.*f", cycles < 99.95 ? 1 : 0, cycles);
	else
		snprintf(text, TABLE_CELL, "-");
	return text;
}

/* The metric's value if the trial took this time; NAN: the metric is neither time nor rate. */
static double at_time(const json_t *metrics, const json_t *metric, double time)
{
	const json_t *one;
	size_t i;

	json_array_foreach(metrics, i, one) {
		if (strcmp(json_string_value(json_object_get(one, "name")), "time") != 0)
			continue;
		if (one == metric)
			return time;
		if (json_is_true(json_object_get(metric, "rate")))
			return record_real(json_object_get(metric, "value")) *
			       record_real(json_object_get(one, "value")) / time;
	}
	return NAN;
}

unsigned display_modes(const json_t *trial, struct display_mode mode[DISPLAY_MODES])
{
	const json_t *metrics = json_object_get(trial, "metrics"),
		     *first = json_array_get(metrics, 0), *one,
		     *modes = json_object_get(json_object_get(trial, "samples"), "modes");
	size_t i;

	json_array_foreach(modes, i, one) {
		const double time = record_real(json_object_get(one, "time")),
			     value = at_time(metrics, first, time);

		if (!isfinite(value) || i >= DISPLAY_MODES)
			return 0;
		quantity_show(value, json_string_value(json_object_get(first, "unit")),
			      mode[i].value, TABLE_CELL);
		snprintf(mode[i].share, TABLE_CELL, "in %.0f %%",
			 100 * record_real(json_object_get(one, "share")));
		display_cycles(time / record_real(json_object_get(trial, "cycle")), mode[i].cycles);
	}
	return (unsigned)json_array_size(modes);
}

/* --- beneath the row of a trial --- */

/* "cycles: 5.3 per load (±1.0 %)"; a range has its own brackets. */
static void print_count(const json_t *counter, const char *name, FILE *f)
{
	char value[TABLE_CELL], interval[TABLE_CELL];
	const bool bare = *display_interval(counter, interval) != '(';

	fprintf(f, "      %s%s: %s per %s %s%s%s\n", name,
		json_is_true(json_object_get(counter, "trusted")) ? "" : " ?",
		display_value(counter, value), json_string_value(json_object_get(counter, "per")),
		bare ? "(" : "", interval, bare ? ")" : "");
}

/*
 * Prints the requested counts. Events that can't be counted anywhere were reported when the run
 * began; the kernel's counts that were not requested are in the notes, if anywhere.
 */
static void print_counters(const json_t *list, FILE *f)
{
	const json_t *counter;
	size_t i;

	json_array_foreach(list, i, counter) {
		const char *source = json_string_value(json_object_get(counter, "source")),
			   *name = json_string_value(json_object_get(counter, "name"));
		const bool known = json_is_number(json_object_get(counter, "value")),
			   own = source && !strcmp(source, "kernel");
		const bool asked = json_is_array(json_object_get(counter, "per_thread")) ||
				   !json_integer_value(json_object_get(counter, "samples"));

		if (!source || (own && !asked))
			continue;
		if (known)
			print_count(counter, name, f);
		else
			fprintf(f, "      %s: %s\n", name,
				json_string_value(json_object_get(counter, "why")));
	}
}

/* A level's medians of pairs, from the least to the 99 % quantile; "-" if it has one pair. */
static char *show_medians(const json_t *level, char *text, size_t size)
{
	char least[64], most[64];

	if (json_integer_value(json_object_get(level, "pairs")) > 1)
		snprintf(text, size, "%s to %s",
			 quantity_show(record_real(json_object_get(level, "0")), "s", least,
				       sizeof(least)),
			 quantity_show(record_real(json_object_get(level, "0.99")), "s", most,
				       sizeof(most)));
	else
		snprintf(text, size, "-");
	return text;
}

/*
 * Prints a row for each level that pairs share: quantiles of all meetings, and the range of the
 * pairs' medians. Then the CPUs that stand out.
 */
static void print_pairs(const json_t *pairs, FILE *f)
{
	static const char *const column[] = { "0", "0.25", "0.5", "0.75", "0.99" };
	const json_t *level, *one;
	char value[64], usual[64], medians[160];
	size_t i;

	if (!json_is_object(pairs))
		return;
	fprintf(f, "      %-8s %7s  %10s %10s %10s %10s %10s  %s\n", "share", "pairs", "least",
		"1/4", "median", "3/4", "99 %", "medians of pairs");
	json_array_foreach(json_object_get(pairs, "levels"), i, level) {
		fprintf(f, "      %-8s %7d ", json_string_value(json_object_get(level, "level")),
			(int)json_integer_value(json_object_get(level, "pairs")));
		for (unsigned q = 0; q < sizeof(column) / sizeof(*column); q++)
			fprintf(f, " %10s",
				quantity_show(
					record_real(json_object_get(
						json_object_get(level, "meetings"), column[q])),
					"s", value, sizeof(value)));
		fprintf(f, "  %s\n", show_medians(level, medians, sizeof(medians)));
	}
	shades_print(json_object_get(pairs, "cells"), message_width(f), f);
	json_array_foreach(json_object_get(pairs, "outstanding"), i, one)
		fprintf(f, "      CPU %d stands out at %s: %s, the others %s\n",
			(int)json_integer_value(json_object_get(one, "cpu")),
			json_string_value(json_object_get(one, "level")),
			quantity_show(record_real(json_object_get(one, "median")), "s", value,
				      sizeof(value)),
			quantity_show(record_real(json_object_get(one, "of")), "s", usual,
				      sizeof(usual)));
}

/* A CPU, and its value over the median one's. */
struct cpu_ratio {
	int cpu;
	double ratio;
};

static int by_ratio(const void *a, const void *b)
{
	const double x = ((const struct cpu_ratio *)a)->ratio,
		     y = ((const struct cpu_ratio *)b)->ratio;

	return (x > y) - (x < y);
}

/* The CPUs that have a value, from the least to the most; returns how many. */
static size_t compare_cpus(const json_t *values, const json_t *cpus, struct cpu_ratio *list)
{
	const json_t *value;
	size_t n = 0, i;
	double median;

	json_array_foreach(values, i, value)
		if (json_is_number(value))
			list[n++] = (struct cpu_ratio){ (int)json_integer_value(
								json_array_get(cpus, i)),
							json_number_value(value) };
	qsort(list, n, sizeof(*list), by_ratio);
	median = n ? (list[(n - 1) / 2].ratio + list[n / 2].ratio) / 2 : 1;
	for (i = 0; i < n; i++)
		list[i].ratio /= median;
	return n;
}

/*
 * If the headline has a value for each CPU, prints the slowest ones: one line, however many CPUs.
 * Two CPUs have no median that would show which one differs.
 */
static void print_cpus(const json_t *trial, FILE *f)
{
	enum { SHOWN = 4 };
	const json_t *cpus = json_object_get(trial, "cpus"),
		     *first = json_array_get(json_object_get(trial, "metrics"), 0),
		     *values = json_object_get(first, "by_worker");
	struct cpu_ratio *list = calloc(json_array_size(values) + 1, sizeof(*list));
	const size_t n = list ? compare_cpus(values, cpus, list) : 0;

	if (n > 2)
		fprintf(f, "      %s of CPUs over the median:",
			json_string_value(json_object_get(first, "name")));
	for (size_t i = 1; n > 2 && i <= n && i <= SHOWN; i++)
		fprintf(f, "%s %.3f (CPU %d)", i > 1 ? "," : "", list[n - i].ratio,
			list[n - i].cpu);
	if (n > 2)
		fprintf(f, "%s\n", n > SHOWN ? ", ..." : "");
	free(list);
}

void display_details(const json_t *trial, FILE *f)
{
	print_cpus(trial, f);
	/* without samples, each counter would repeat the trial's reason */
	if (json_is_object(json_object_get(trial, "samples")))
		print_counters(json_object_get(trial, "counters"), f);
	print_pairs(json_object_get(trial, "pairs"), f);
}
