/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/sample/metrics.h"
#include "harness/record/record.h"
#include "harness/run/table.h"
#include "base/quantity.h"

/* NULL when a trial is possible; else the first reason, and whether there are others. */
static const char *refusal_of(const struct plan *plan, bool *others)
{
	const char *first = plan->trial[0].refusal;

	*others = false;
	for (unsigned i = 0; i < plan->trials; i++) {
		if (!plan->trial[i].refusal)
			return NULL;
		*others |= strcmp(plan->trial[i].refusal, first) != 0;
	}
	return first;
}

void table_begin(struct table *t, const struct plan *plan)
{
	const char *refusal;
	bool others;

	*t = (struct table){ .plan = plan, .width = 8 };
	refusal = refusal_of(plan, &others);
	t->silent = refusal != NULL;
	if (refusal)
		fprintf(stderr, "%s %s: impossible here: %s%s\n", program_invocation_short_name,
			plan->benchmark->name, refusal,
			others ? " (and other trials for other reasons)" : "");
	for (unsigned i = 0; i < plan->trials; i++)
		if ((int)strlen(plan->trial[i].name) > t->width)
			t->width = (int)strlen(plan->trial[i].name);
}

/* What all trials have in common is said once. */
static void print_title(struct table *t)
{
	const struct benchmark *b = t->plan->benchmark;
	const struct ranks *ranks = t->plan->trial[0].trial.ranks;
	const bool time_first = metric_is_time(&b->metrics[0]);

	if (ranks)
		printf("%s over %u rank%s with so many threads each: %s\n", b->name, ranks->ranks,
		       ranks->ranks > 1 ? "s" : "", b->protocol);
	else
		printf("%s: %s\n", b->name, b->protocol);
	printf("%-*s  %7s  %15s  %-15s  %15s  %6s  %s\n", t->width, "trial", "threads",
	       time_first ? "time" : b->metrics[0].name, "95 % interval",
	       time_first ? "core cycles" : "time", "local", "status");
	t->titled = true;
}

/* "-0.4 +0.3 %" around the value. */
static char *show_interval(const json_t *metric, char *text, size_t size)
{
	const json_t *ci = json_object_get(metric, "ci");
	double value = record_real(json_object_get(metric, "value"));

	if (json_is_array(ci) && value != 0)
		snprintf(text, size, "%+.1f %+.1f %%",
			 100 * (record_real(json_array_get(ci, 0)) / value - 1),
			 100 * (record_real(json_array_get(ci, 1)) / value - 1));
	else
		snprintf(text, size, "-");
	return text;
}

static char *show_metric(const json_t *metric, char *text, size_t size)
{
	return quantity_show(record_real(json_object_get(metric, "value")),
			     json_string_value(json_object_get(metric, "unit")), text, size);
}

static void print_sentences(const json_t *list)
{
	const json_t *sentence;
	size_t i;

	json_array_foreach(list, i, sentence) printf("      %s\n", json_string_value(sentence));
}

static bool is_said_already(struct table *t, const char *status, const json_t *reasons)
{
	char why[sizeof(t->said)] = "";
	bool same;

	if (strcmp(status, "impossible") == 0 && json_array_size(reasons) == 1)
		snprintf(why, sizeof(why), "%s", json_string_value(json_array_get(reasons, 0)));
	same = *why && strcmp(why, t->said) == 0;
	snprintf(t->said, sizeof(t->said), "%s", why);
	return same;
}

static void print_ratios(const json_t *list)
{
	const json_t *ratio;
	char interval[64];
	size_t i;

	json_array_foreach(list, i, ratio)
		printf("      %s %s/%s, %s: %.3g (%s)\n",
		       json_string_value(json_object_get(ratio, "name")),
		       json_string_value(json_object_get(ratio, "of")),
		       json_string_value(json_object_get(ratio, "to")),
		       json_string_value(json_object_get(ratio, "metric")),
		       record_real(json_object_get(ratio, "value")),
		       show_interval(ratio, interval, sizeof(interval)));
}

/*
 * What was asked for, and found; what can't be counted anywhere was said at the beginning. What the
 * kernel tells of all samples is in the notes, if anything.
 */
static void print_counters(const json_t *list)
{
	const json_t *counter;
	char value[64], interval[64];
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
			printf("      %s%s: %s per %s (%s)\n", name,
			       json_is_true(json_object_get(counter, "trusted")) ? "" : " ?",
			       show_metric(counter, value, sizeof(value)),
			       json_string_value(json_object_get(counter, "per")),
			       show_interval(counter, interval, sizeof(interval)));
		else
			printf("      %s: %s\n", name,
			       json_string_value(json_object_get(counter, "why")));
	}
}

/* From the least median of a pair to the 99 % quantile, where a level has pairs to tell apart. */
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
 * Meetings by what the two share, how their pairs differ, and the CPUs that are not like the
 * others.
 */
static void print_pairs(const json_t *pairs)
{
	static const char *const column[] = { "0", "0.25", "0.5", "0.75", "0.99" };
	const json_t *level, *one;
	char value[64], usual[64], medians[160];
	size_t i;

	if (!json_is_object(pairs))
		return;
	printf("      %-8s %7s  %10s %10s %10s %10s %10s  %s\n", "share", "pairs", "least", "1/4",
	       "median", "3/4", "99 %", "medians of pairs");
	json_array_foreach(json_object_get(pairs, "levels"), i, level)
	{
		printf("      %-8s %7d ", json_string_value(json_object_get(level, "level")),
		       (int)json_integer_value(json_object_get(level, "pairs")));
		for (unsigned q = 0; q < sizeof(column) / sizeof(*column); q++)
			printf(" %10s", quantity_show(record_real(json_object_get(
							      json_object_get(level, "meetings"),
							      column[q])),
						      "s", value, sizeof(value)));
		printf("  %s\n", show_medians(level, medians, sizeof(medians)));
	}
	json_array_foreach(json_object_get(pairs, "outstanding"), i, one) printf(
		"      CPU %d stands out at %s: %s, the others %s\n",
		(int)json_integer_value(json_object_get(one, "cpu")),
		json_string_value(json_object_get(one, "level")),
		quantity_show(record_real(json_object_get(one, "median")), "s", value,
			      sizeof(value)),
		quantity_show(record_real(json_object_get(one, "of")), "s", usual, sizeof(usual)));
}

void table_row(struct table *t, const struct planned *p, const json_t *trial)
{
	const json_t *metrics = json_object_get(trial, "metrics"),
		     *first = json_array_get(metrics, 0);
	/* last, unless it is first */
	const json_t *time = json_array_get(metrics, json_array_size(metrics) - 1);
	const json_t *reasons = json_object_get(trial, "reasons");
	const char *status = json_string_value(json_object_get(trial, "status"));
	const json_t *placement = json_object_get(json_object_get(trial, "placement"), "before");
	double local = record_real(json_object_get(placement, "local_share"));
	char value[64], interval[64], seconds[64], share[16] = "-";

	if (t->silent)
		return;
	if (!t->titled)
		print_title(t);
	if (isfinite(local))
		snprintf(share, sizeof(share), "%.0f %%", 100 * local);
	else if (placement &&
		 strcmp(json_string_value(json_object_get(placement, "how")), "verified"))
		snprintf(share, sizeof(share), "?");
	if (metric_is_time(&p->trial.benchmark->metrics[0]))
		quantity_show(record_real(json_object_get(trial, "cycles")), "1", seconds,
			      sizeof(seconds));
	else
		show_metric(time, seconds, sizeof(seconds));
	printf("%-*s  %7u  %15s  %-15s  %15s  %6s  %s\n", t->width, p->name, p->trial.threads,
	       show_metric(first, value, sizeof(value)),
	       show_interval(first, interval, sizeof(interval)), seconds, share, status);
	if (!is_said_already(t, status, reasons))
		print_sentences(reasons);
	print_sentences(json_object_get(trial, "notes"));
	print_ratios(json_object_get(trial, "ratios"));
	/* else that is why nothing was counted */
	if (json_is_object(json_object_get(trial, "samples")))
		print_counters(json_object_get(trial, "counters"));
	print_pairs(json_object_get(trial, "pairs"));
	fflush(stdout);
}
