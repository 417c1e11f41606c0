/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/statistics.h"
#include "base/utf8.h"
#include "harness/record/record.h"
#include "harness/sample/counts.h"

/* --- quotients --- */

/* Rows with the same name are alternatives: the first whose two events were counted is used. */
static const struct quotient {
	const char *name, *per, *of, *over;
} quotients[] = {
	{ "instructions per cycle", "cycle", "PAPI_TOT_INS", "PAPI_TOT_CYC" },
	{ "instructions per cycle", "cycle", "perf::INSTRUCTIONS", "perf::CYCLES" },
	{ "instructions per cycle", "cycle", "perf::INSTRUCTIONS", "perf::CPU-CYCLES" },
	{ "branch miss rate", "branch", "PAPI_BR_MSP", "PAPI_BR_CN" },
	{ "branch miss rate", "branch", "PAPI_BR_MSP", "PAPI_BR_INS" },
	{ "branch miss rate", "branch", "perf::BRANCH-MISSES", "perf::BRANCH-INSTRUCTIONS" },
	{ "branch miss rate", "branch", "perf::BRANCH-MISSES", "perf::BRANCHES" },
	{ "L1 miss rate", "access", "PAPI_L1_DCM", "PAPI_L1_DCA" },
	{ "L1 miss rate", "load", "perf::L1-DCACHE-LOAD-MISSES", "perf::L1-DCACHE-LOADS" },
	{ "L2 miss rate", "access", "PAPI_L2_DCM", "PAPI_L2_DCA" },
	{ "L2 miss rate", "access", "PAPI_L2_TCM", "PAPI_L2_TCA" },
	{ "L3 miss rate", "access", "PAPI_L3_TCM", "PAPI_L3_TCA" },
	{ "last cache's miss rate", "access", "perf::CACHE-MISSES", "perf::CACHE-REFERENCES" },
	{ "TLB miss rate", "load", "perf::DTLB-LOAD-MISSES", "perf::DTLB-LOADS" },
	{ "remote share", "load", "perf::NODE-LOAD-MISSES", "perf::NODE-LOADS" },
};

static const json_t *counter_named(const json_t *list, const char *name)
{
	const json_t *counter;
	size_t i;

	json_array_foreach(list, i, counter)
		if (!strcmp(json_string_value(json_object_get(counter, "name")), name))
			return counter;
	return NULL;
}

static double value_of(const json_t *counter)
{
	return record_real(json_object_get(counter, "value"));
}

static double bound_of(const json_t *counter, size_t upper)
{
	return record_real(json_array_get(json_object_get(counter, "ci"), upper));
}

/* NULL if one of the two was not counted. */
static json_t *quotient_json(const struct quotient *q, const json_t *of, const json_t *over)
{
	const double value = value_of(of) / value_of(over), least = bound_of(over, 0);
	const struct estimate e = { value, bound_of(of, 0) / bound_of(over, 1),
				    least > 0 ? bound_of(of, 1) / least : NAN };
	const bool trusted = json_is_true(json_object_get(of, "trusted")) &&
			     json_is_true(json_object_get(over, "trusted"));
	const json_int_t n = json_integer_value(json_object_get(of, "samples")),
			 m = json_integer_value(json_object_get(over, "samples"));

	if (!of || !over || !isfinite(value))
		return NULL;
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:f, s:o, s:n, s:n, s:I, s:b, s:s?}", "name",
			 q->name, "source", "ratio", "unit", "1", "scope", "thread", "per", q->per,
			 "value", value, "ci", record_interval(e.low, e.high), "per_thread",
			 "total", "samples", n < m ? n : m, "trusted", trusted, "why",
			 trusted ? NULL : "one of the two counts is doubtful");
}

void counts_add_quotients(json_t *list)
{
	for (size_t i = 0; i < LENGTH(quotients); i++) {
		const struct quotient *q = &quotients[i];
		json_t *ratio = counter_named(list, q->name)
					? NULL
					: quotient_json(q, counter_named(list, q->of),
							counter_named(list, q->over));

		if (ratio)
			json_array_append_new(list, ratio);
	}
}

/* --- events --- */

/* One event's result over all batches. */
struct event_result {
	struct count_sum sum;
	struct estimate each; /* count per unit, or per part if the benchmark has parts */
};

/*
 * The value is the sum of all counts over all units: the median over batches would be zero for rare
 * events. The interval comes from the batches, widened to contain the value.
 */
static struct event_result event_result(const struct series *s, unsigned event)
{
	const struct tally *t = &s->tally;
	struct event_result c = { .each = ESTIMATE_UNKNOWN };
	double *rate = calloc(s->samples.batches + 1, sizeof(*rate));

	for (unsigned i = 0; rate && i < s->samples.batches; i++) {
		const struct count_sum *sum = tally_sum(t, i, event);

		rate[i] = sum->units > 0 ? sum->count / (sum->units * tally_amount(t)) : NAN;
		c.sum.count += sum->count;
		c.sum.units += sum->units * tally_amount(t);
		c.sum.samples += sum->samples;
	}
	if (rate && c.sum.units > 0) {
		c.each = samples_estimate(&s->samples, rate);
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
	for (unsigned i = 0; i < s->samples.batches; i++) {
		if (!tally_counts_event(t, i, event))
			continue;
		*counted += tally_sum(t, i, event)->samples > 0;
		++*batches;
	}
	return *counted && 2 * *counted < *batches ? t->why[event] : NULL;
}

/* Why there is no number; NULL: there is one. */
static const char *why_none(const struct tally *t, unsigned i, struct event_result c)
{
	const char *why = t->counting->events.of[t->event[i]].why;

	if (isfinite(c.each.value))
		return NULL;
	if (why || t->why[i])
		return why ? why : t->why[i];
	return "no batch was left for the pass that counts it: allow more time or --repeats, or "
	       "ask for fewer events";
}

static json_t *threads_json(const struct tally *t, unsigned i, struct event_result c)
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
	const struct event_result c = event_result(s, i);
	const char *why = why_not ? why_not : why_none(t, i, c);
	const bool hardware = e->source && strcmp(e->source, "kernel");
	const bool none = why, doubtful = !why && hardware && c.sum.count == 0 &&
					  !t->counting->events.of[t->event[i]].proven;

	if (doubtful)
		why = "it reads zero in all samples, and no probe saw it count: this machine may "
		      "not count it, like many virtual machines";
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
	counts_add_quotients(list);
	return list;
}

json_t *counts_kernel_json(const struct series *s)
{
	json_t *object = json_object();

	for (size_t i = 0; i < NOISE_COUNTERS && s->samples.n; i++) {
		const double total = noise_counters[i].total(&s->evidence.noise);

		if (total != 0 && isfinite(total))
			json_object_set_new(object, noise_counters[i].name, record_count(total));
	}
	return object;
}

json_t *counts_kernel_unknown_json(const struct series *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < NOISE_COUNTERS && s->samples.n; i++)
		if (!isfinite(noise_counters[i].total(&s->evidence.noise)))
			json_array_append_new(list, json_string(noise_counters[i].name));
	return list;
}

json_t *counts_batch_json(const struct tally *t, unsigned batch)
{
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
	const unsigned aside = samples_aside(&s->samples);
	double *x = calloc(s->samples.batches + 1, sizeof(*x));
	struct estimate e = ESTIMATE_UNKNOWN;

	for (unsigned i = 0; x && i < s->samples.batches; i++)
		x[i] = tally_counts(&s->tally, i) == counted
			       ? estimates_batch(&s->samples, i, NULL, aside)
			       : NAN;
	if (x)
		e = samples_estimate(&s->samples, x);
	free(x);
	return e;
}

json_t *counts_cost_json(const struct series *s)
{
	const struct estimate with = time_of(s, true), without = time_of(s, false);

	if (!s->tally.passes || !s->samples.n)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o}", "with", record_number(with.value), "with_ci",
			 record_interval(with.low, with.high), "without",
			 record_number(without.value), "without_ci",
			 record_interval(without.low, without.high));
}
