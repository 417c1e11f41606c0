/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <string.h>

#include "harness/record/json.h"
#include "harness/run/details.h"
#include "harness/run/shown.h"
#include "base/quantity.h"

/* "cycles: 5.3 per load (±1.0 %)": in brackets anyway, as a range is. */
static void print_count(const json_t *counter, const char *name, FILE *f)
{
	char value[SHOWN_ROOM], interval[SHOWN_ROOM];
	const bool bare = *shown_interval(counter, interval) != '(';

	fprintf(f, "      %s%s: %s per %s %s%s%s\n", name,
		json_is_true(json_object_get(counter, "trusted")) ? "" : " ?",
		shown_value(counter, value), json_string_value(json_object_get(counter, "per")),
		bare ? "(" : "", interval, bare ? ")" : "");
}

/*
 * Prints the counts that were asked for. Events that can't be counted anywhere were reported when
 * the run began; the kernel's counts that nobody asked for are in the notes, if anywhere.
 */
static void print_counters(const json_t *list, FILE *f)
{
	const json_t *counter;
	size_t i;

	json_array_foreach(list, i, counter)
	{
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

/* The range of a level's medians of pairs, least to 99 % quantile; "-" if it has one pair. */
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
	json_array_foreach(json_object_get(pairs, "levels"), i, level)
	{
		fprintf(f, "      %-8s %7d ", json_string_value(json_object_get(level, "level")),
		       (int)json_integer_value(json_object_get(level, "pairs")));
		for (unsigned q = 0; q < sizeof(column) / sizeof(*column); q++)
			fprintf(f, " %10s", quantity_show(record_real(json_object_get(
							      json_object_get(level, "meetings"),
							      column[q])),
						      "s", value, sizeof(value)));
		fprintf(f, "  %s\n", show_medians(level, medians, sizeof(medians)));
	}
	json_array_foreach(json_object_get(pairs, "outstanding"), i, one) fprintf(
		f,
		"      CPU %d stands out at %s: %s, the others %s\n",
		(int)json_integer_value(json_object_get(one, "cpu")),
		json_string_value(json_object_get(one, "level")),
		quantity_show(record_real(json_object_get(one, "median")), "s", value,
			      sizeof(value)),
		quantity_show(record_real(json_object_get(one, "of")), "s", usual, sizeof(usual)));
}

void details_print(const json_t *trial, FILE *f)
{
	/* without samples, each counter would repeat the reason of the trial */
	if (json_is_object(json_object_get(trial, "samples")))
		print_counters(json_object_get(trial, "counters"), f);
	print_pairs(json_object_get(trial, "pairs"), f);
}
