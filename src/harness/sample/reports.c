/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "harness/record/record.h"
#include "harness/sample/reductions.h"
#include "harness/sample/reports.h"
#include "harness/sample/workers.h"
#include "machine/watchdog.h"

static bool is_by_worker(const struct metric *m)
{
	return m->kind != M_VALUE && m->kind != M_COUNT && m->kind != M_DISTRIBUTION &&
	       m->kind != M_ROW;
}

static bool has_rows(const struct trial *t)
{
	bool any = false;

	for (unsigned i = 0; i < t->benchmark->n_metrics; i++)
		any |= t->benchmark->metrics[i].kind == M_ROW;
	return any;
}

struct reports *reports_open(const struct trial *t)
{
	const unsigned n = t->benchmark->n_metrics;
	struct reports *r = calloc(1, sizeof(*r));
	bool good;

	if (!r)
		return NULL;
	r->by_worker = calloc(n + 1, sizeof(*r->by_worker));
	r->distribution = calloc(n + 1, sizeof(*r->distribution));
	good = r->by_worker && r->distribution;
	for (unsigned i = 0; good && i < n; i++) {
		const struct metric *m = &t->benchmark->metrics[i];

		if (is_by_worker(m))
			good = (r->by_worker[i] = by_worker_open(t->threads, m->kind));
		else if (m->kind == M_DISTRIBUTION || m->kind == M_ROW)
			good = (r->distribution[i] = distribution_open());
	}
	if (good && has_rows(t))
		good = (r->rows = rows_open(t));
	if (good)
		return r;
	reports_close(r, t->benchmark);
	return NULL;
}

void reports_close(struct reports *r, const struct benchmark *b)
{
	if (!r)
		return;
	for (unsigned i = 0; r->by_worker && r->distribution && i < b->n_metrics; i++) {
		by_worker_close(r->by_worker[i]);
		distribution_close(r->distribution[i]);
	}
	rows_close(r->rows);
	free(r->by_worker);
	free(r->distribution);
	free(r);
}

/* --- what collect() is given --- */

struct result {
	struct reports *reports;
	struct samples *samples;
	unsigned metrics;
	double wall, communicated;
};

/* The metric's value in the last sample; NULL: the harness measures it. */
static double *value_of(const struct samples *s, unsigned metric)
{
	return s->value[metric] ? &s->value[metric][s->n] : NULL;
}

void report(struct result *r, unsigned metric, double value)
{
	double *of = metric < r->metrics ? value_of(r->samples, metric) : NULL;

	if (of)
		*of = value;
}

void report_by_worker(struct result *r, unsigned metric, unsigned worker, double value)
{
	if (metric < r->metrics && r->reports->by_worker[metric])
		by_worker_note(r->reports->by_worker[metric], worker, value);
}

void report_distribution(struct result *r, unsigned metric, const struct histogram *h, double unit)
{
	if (metric < r->metrics && r->reports->distribution[metric])
		distribution_add(r->reports->distribution[metric], h, unit);
}

void report_with(struct result *r, unsigned metric, unsigned rank, double value)
{
	if (metric < r->metrics && r->reports->rows && r->reports->distribution[metric]) {
		histogram_add(&r->reports->distribution[metric]->sample, value);
		rows_add(r->reports->rows, metric, rank, value);
	}
}

double elapsed(const struct result *r)
{
	return r->wall;
}

double communicated(const struct result *r)
{
	return r->communicated;
}

/* Reduces reports by worker, or a distribution, to one value; NAN: there are none. */
static double reduce(const struct reports *r, const struct trial *t, unsigned metric)
{
	if (r->by_worker[metric])
		return by_worker_end(r->by_worker[metric], t->ranks);
	if (r->distribution[metric])
		return distribution_end(r->distribution[metric], t->ranks);
	return NAN;
}

void reports_collect(struct reports *r, struct samples *s, const struct trial *t, void *state,
		     const struct sample *sample)
{
	const unsigned n = t->benchmark->n_metrics;
	struct result result = { r, s, n, sample->wall, sample->communicated };

	for (unsigned m = 0; m < n; m++)
		if (s->value[m])
			*value_of(s, m) = NAN;
	if (!roles_ops(t)->collect)
		return;
	watchdog_away(TRIAL_VERIFYING);
	roles_ops(t)->collect(state, t, &result);
	watchdog_back();
	for (unsigned m = 0; m < n; m++) {
		const double value = reduce(r, t, m);

		if (isfinite(value))
			*value_of(s, m) = value;
	}
}

/* --- in the record --- */

const char *metric_better(const struct metric *m)
{
	static const char *const words[] = {
		[LOWER_IS_BETTER] = "lower",
		[HIGHER_IS_BETTER] = "higher",
		[NEITHER_IS_BETTER] = NULL,
	};

	return words[m->better];
}

/* amount / time: inverting only reverses the order of the times, so low and high swap. */
static struct estimates invert(struct estimates time, double amount)
{
	const struct estimate t = time.kept;

	return (struct estimates){ { .value = amount / t.value,
				     .low = amount / t.high,
				     .high = amount / t.low,
				     .least = amount / t.most,
				     .most = amount / t.least,
				     .groups = t.groups },
				   amount / time.all };
}

/* amount() is called only if there are samples: an impossible trial may have no places. */
struct estimates reports_metric(const struct samples *s, const struct trial *t, unsigned metric,
				struct estimates time)
{
	const struct metric *m = &t->benchmark->metrics[metric];

	if (s->n && m->amount)
		return invert(time, m->amount(t));
	if (s->n && s->value[metric])
		return estimates_values(s, s->value[metric]);
	return (struct estimates){ ESTIMATE_UNKNOWN, NAN };
}

json_t *reports_range(struct estimate e)
{
	if (isfinite(e.low) || e.groups < 2)
		return json_null();
	return json_pack("{s:i, s:f, s:f}", "of", (int)e.groups, "low", e.least, "high", e.most);
}

static json_t *metric_json(const struct metric *m, struct estimates e, const char *why)
{
	return json_pack("{s:s, s:s, s:s?, s:b, s:o, s:o, s:o, s:o, s:o?}", "name", m->name, "unit",
			 m->unit, "better", metric_better(m), "rate", m->amount != NULL, "value",
			 record_number(e.kept.value), "ci",
			 record_interval(e.kept.low, e.kept.high), "range", reports_range(e.kept),
			 "with_noise", e.all == e.kept.value ? json_null() : record_number(e.all),
			 "why", isfinite(e.kept.value) ? NULL : utf8_json(why));
}

/* Adds what the metric's kind has besides a value, as "by_worker" or "distribution". */
static void add_detail(const struct reports *r, unsigned metric, json_t *object)
{
	json_t *detail = r->by_worker[metric]	   ? by_worker_json(r->by_worker[metric])
			 : r->distribution[metric] ? distribution_json(r->distribution[metric])
						   : NULL;

	if (detail)
		json_object_set_new(object, r->by_worker[metric] ? "by_worker" : "distribution",
				    detail);
}

json_t *reports_json(const struct reports *r, const struct samples *s, const struct trial *t,
		     struct estimates time, const char *why)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < t->benchmark->n_metrics; i++) {
		const struct metric *m = &t->benchmark->metrics[i];
		const bool is_time = metric_is_time(m);
		json_t *object =
			metric_json(m, is_time ? time : reports_metric(s, t, i, time),
				    s->n && !is_time ? "not reported for this trial" : why);

		add_detail(r, i, object);
		json_array_append_new(list, object);
	}
	return list;
}
