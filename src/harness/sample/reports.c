/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/sample/reports.h"

#include <math.h>
#include <stdlib.h>

#include "harness/sample/by_worker.h"
#include "harness/sample/distribution.h"
#include "harness/sample/metrics.h"
#include "harness/sample/roles.h"
#include "machine/watchdog.h"

static bool is_by_worker(const struct metric *m)
{
	return m->kind == M_FAIRNESS || m->kind == M_IMBALANCE;
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
			good = (r->by_worker[i] = by_worker_open(t->threads));
		else if (m->kind == M_DISTRIBUTION)
			good = (r->distribution[i] = distribution_open());
	}
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
	free(r->by_worker);
	free(r->distribution);
	free(r);
}

/* --- what collect() is given --- */

struct result {
	struct series *series;
	double wall, communicated;
};

static bool is_metric(const struct result *r, unsigned metric)
{
	return metric < r->series->planned->trial.benchmark->n_metrics;
}

void report(struct result *r, unsigned metric, double value)
{
	struct series *s = r->series;

	if (is_metric(r, metric) && s->value[metric])
		s->value[metric][s->samples] = value;
}

void report_by_worker(struct result *r, unsigned metric, unsigned worker, double value)
{
	if (is_metric(r, metric) && r->series->reports->by_worker[metric])
		by_worker_note(r->series->reports->by_worker[metric], worker, value);
}

void report_distribution(struct result *r, unsigned metric, const struct histogram *h, double unit)
{
	if (is_metric(r, metric) && r->series->reports->distribution[metric])
		distribution_add(r->series->reports->distribution[metric], h, unit);
}

double elapsed(const struct result *r)
{
	return r->wall;
}

double communicated(const struct result *r)
{
	return r->communicated;
}

/* What was reported by worker, or as a distribution, becomes the value of the sample. */
static void derive(struct series *s, unsigned metric)
{
	const struct trial *t = &s->planned->trial;
	const struct reports *r = s->reports;
	double value = NAN;

	if (r->by_worker[metric])
		value = by_worker_end(r->by_worker[metric], t->benchmark->metrics[metric].kind,
				      t->ranks);
	else if (r->distribution[metric])
		value = distribution_end(r->distribution[metric], t->ranks);
	if (isfinite(value))
		s->value[metric][s->samples] = value;
}

void reports_collect(struct series *s, const struct sample *sample)
{
	const struct trial *t = &s->planned->trial;
	const unsigned n = t->benchmark->n_metrics;
	struct result result = { s, sample->wall, sample->communicated };

	for (unsigned m = 0; m < n; m++)
		if (s->value[m])
			s->value[m][s->samples] = NAN;
	if (!roles_ops(t)->collect)
		return;
	watchdog_away(SERIES_VERIFYING);
	roles_ops(t)->collect(s->state, t, &result);
	watchdog_back();
	for (unsigned m = 0; m < n; m++)
		derive(s, m);
}

void reports_detail(const struct series *s, unsigned metric, json_t *object)
{
	const struct reports *r = s->reports;

	json_t *detail = r->by_worker[metric]	   ? by_worker_json(r->by_worker[metric])
			 : r->distribution[metric] ? distribution_json(r->distribution[metric])
						   : NULL;

	if (detail)
		json_object_set_new(object, r->by_worker[metric] ? "by_worker" : "distribution",
				    detail);
}
