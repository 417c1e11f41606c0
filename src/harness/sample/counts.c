/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/utf8.h"
#include "harness/sample/counts.h"
#include "harness/sample/estimates.h"
#include "harness/sample/quotients.h"
#include "harness/record/json.h"

/* One event's result over all batches. */
struct came_to {
	struct count_sum sum;
	struct estimate each; /* count per unit, or per part where the benchmark has parts */
};

/*
 * The value is the sum of all counts over all units: the median over batches would be zero for rare
 * events. The interval is that of the batches, widened to hold the value.
 */
static struct came_to come_to(const struct series *s, unsigned event)
{
	const struct tally *t = &s->tally;
	struct came_to c = { .each = ESTIMATE_UNKNOWN };
	double *rate = calloc(s->batches + 1, sizeof(*rate));

	for (unsigned i = 0; rate && i < s->batches; i++) {
		const struct count_sum *sum = tally_sum(t, i, event);

		rate[i] = sum->units > 0 ? sum->count / (sum->units * tally_amount(t)) : NAN;
		c.sum.count += sum->count;
		c.sum.units += sum->units * tally_amount(t);
		c.sum.samples += sum->samples;
	}
	if (rate && c.sum.units > 0) {
		c.each = series_estimate(s, rate);
		c.each.value = c.sum.count / c.sum.units;
		c.each.low = isfinite(c.each.low) ? fmin(c.each.low, c.each.value) : NAN;
		c.each.high = isfinite(c.each.high) ? fmax(c.each.high, c.each.value) : NAN;
	}
	free(rate);
	return c;
}

const char *counts_gap(const struct series *s, unsigned event, unsigned *counted, unsigned *batches)
{
	const struct tally *t = &s->tally;

	*counted = *batches = 0;
	for (unsigned i = 0; i < s->batches; i++) {
		if (!tally_counts_event(t, i, event))
			continue;
		*counted += tally_sum(t, i, event)->samples > 0;
		++*batches;
	}
	return *counted && 2 * *counted < *batches ? t->why[event] : NULL;
}

/* Why there is no number; NULL: there is one. */
static const char *why_none(const struct tally *t, unsigned i, struct came_to c)
{
	const char *why = t->counting->events.of[t->event[i]].why;

	if (isfinite(c.each.value))
		return NULL;
	if (why || t->why[i])
		return why ? why : t->why[i];
	return "no batch was left for the pass that counts it: allow more time or --repeats, or "
	       "ask for fewer events";
}

static json_t *threads_json(const struct tally *t, unsigned i, struct came_to c)
{
	json_t *list = json_array();

	for (unsigned w = 0; w < t->workers; w++)
		json_array_append_new(list, record_number(t->of_worker[(size_t)i * t->workers + w] /
							  c.sum.units));
	return list;
}

static json_t *event_counter(const struct series *s, unsigned i, const char *why_not)
{
	const struct tally *t = &s->tally;
	const struct event *e = counters_event(t->counting->counters, t->event[i]);
	const struct came_to c = come_to(s, i);
	const char *why = why_not ? why_not : why_none(t, i, c);
	const bool hardware = e->source && strcmp(e->source, "kernel");
	const bool none = why, doubtful = !why && hardware && c.sum.count == 0 &&
					  !t->counting->events.of[t->event[i]].proven;

	if (doubtful)
		why = "it reads zero in all samples, and no probe saw it count either: here "
		      "nothing may count it, as in many virtual machines";
	return json_pack("{s:o?, s:s?, s:o?, s:s, s:s, s:o, s:o, s:o, s:o, s:i, s:b, s:o?}", "name",
			 utf8_json(tally_name(t, i)), "source",
			 t->counting->events.of[t->event[i]].why ? NULL : e->source, "unit",
			 utf8_json(e->unit ? e->unit : "1"), "scope", counting_scope(e), "per",
			 counting_per(t->trial->benchmark), "value",
			 none ? json_null() : record_number(c.each.value), "ci",
			 none ? json_null() : record_interval(c.each.low, c.each.high),
			 "per_thread", none ? json_null() : threads_json(t, i, c), "total",
			 none ? json_null() : record_count(c.sum.count), "samples",
			 (int)c.sum.samples, "trusted", !doubtful, "why", utf8_json(why));
}

json_t *counts_json(const struct series *s, const char *why)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < s->tally.events; i++)
		json_array_append_new(list, event_counter(s, i, why));
	quotients_add(list);
	return list;
}

json_t *counts_kernel_json(const struct series *s)
{
	json_t *object = json_object();

	for (size_t i = 0; i < NOISE_COUNTERS && s->samples; i++) {
		const double total = noise_counters[i].total(&s->noise);

		if (total != 0 && isfinite(total))
			json_object_set_new(object, noise_counters[i].name, record_count(total));
	}
	return object;
}

json_t *counts_kernel_unknown_json(const struct series *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < NOISE_COUNTERS && s->samples; i++)
		if (!isfinite(noise_counters[i].total(&s->noise)))
			json_array_append_new(list, json_string(noise_counters[i].name));
	return list;
}

json_t *counts_batch_json(const struct series *s, unsigned batch)
{
	const struct tally *t = &s->tally;
	json_t *object = json_object();

	for (unsigned i = 0; i < t->events && tally_counts(t, batch); i++)
		if (tally_sum(t, batch, i)->samples)
			json_object_set_new(object, tally_name(t, i),
					    record_count(tally_sum(t, batch, i)->count));
	return object;
}

/* The time per unit in the batches that counted events, or in the others. */
static struct estimate time_of(const struct series *s, bool counted)
{
	const bool aside = series_sets_noise_aside(s);
	double *x = calloc(s->batches + 1, sizeof(*x));
	struct estimate e = ESTIMATE_UNKNOWN;

	for (unsigned i = 0; x && i < s->batches; i++)
		x[i] = tally_counts(&s->tally, i) == counted ? estimates_batch(s, i, NULL, aside)
							     : NAN;
	if (x)
		e = series_estimate(s, x);
	free(x);
	return e;
}

json_t *counts_cost_json(const struct series *s)
{
	const struct estimate with = time_of(s, true), without = time_of(s, false);

	if (!s->tally.passes || !s->samples)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o}", "with", record_number(with.value), "with_ci",
			 record_interval(with.low, with.high), "without",
			 record_number(without.value), "without_ci",
			 record_interval(without.low, without.high));
}
