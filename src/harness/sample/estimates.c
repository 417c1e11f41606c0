/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "harness/sample/estimates.h"
#include "harness/sample/metrics.h"
#include "harness/record/json.h"
#include "harness/sample/reports.h"
#include "base/utf8.h"

double estimates_batch(const struct series *s, unsigned batch, const double *value, bool aside)
{
	const struct batch *b = &s->batch[batch];

	if (!value)
		return aside ? b->clean : b->estimate;
	return statistics_quantile_known(value + b->first, aside ? s->noisy + b->first : NULL,
					 b->samples, 0.5);
}

/* By batch; to be freed. NULL: no memory. */
static double *by_batch(const struct series *s, const double *value, bool aside)
{
	double *x = calloc(s->batches + 1, sizeof(*x));

	for (unsigned i = 0; x && i < s->batches; i++)
		x[i] = estimates_batch(s, i, value, aside);
	return x;
}

/* By order statistics alone. */
static struct estimate ordered(const struct series *s, const double *value, bool aside)
{
	double *x = by_batch(s, value, aside);
	const struct estimate e = x ? series_estimate(s, x) : ESTIMATE_UNKNOWN;

	free(x);
	return e;
}

/* Trials end by their time alone, so only its interval is compared with those of other trials. */
static struct estimate estimate_of(const struct series *s, const double *value, bool aside)
{
	return estimate_widened(ordered(s, value, aside), value ? 0 : s->typical);
}

size_t estimates_allocations(const struct series *s, double *medians)
{
	double *x = by_batch(s, NULL, series_sets_noise_aside(s));
	const size_t n = x ? series_medians(s, x, medians) : 0;

	free(x);
	return n;
}

double estimates_scatter(const struct series *s)
{
	return estimate_scatter(ordered(s, NULL, series_sets_noise_aside(s)));
}

struct estimates estimates_values(const struct series *s, const double *value)
{
	const bool aside = series_sets_noise_aside(s);

	return (struct estimates){ estimate_of(s, value, aside),
				   estimate_of(s, value, false).value };
}

struct estimates estimates_time(const struct series *s)
{
	return estimates_values(s, NULL);
}

bool estimates_converged(const struct series *s)
{
	const struct estimate e = estimate_of(s, NULL, series_sets_noise_aside(s));

	if (s->failure) /* there is nothing to wait for */
		return true;
	return estimate_reach(e) <= s->within; /* false if it is NAN */
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
struct estimates estimates_metric(const struct series *s, unsigned metric, struct estimates time)
{
	const struct trial *t = &s->planned->trial;
	const struct metric *m = &t->benchmark->metrics[metric];

	if (s->samples && m->amount)
		return invert(time, m->amount(t));
	if (s->samples && s->value[metric])
		return estimates_values(s, s->value[metric]);
	return (struct estimates){ ESTIMATE_UNKNOWN, NAN };
}

json_t *estimates_range(struct estimate e)
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
			 record_interval(e.kept.low, e.kept.high), "range", estimates_range(e.kept),
			 "with_noise", e.all == e.kept.value ? json_null() : record_number(e.all),
			 "why", isfinite(e.kept.value) ? NULL : utf8_json(why));
}

json_t *estimates_json(const struct series *s, struct estimates time, const char *why)
{
	const struct trial *t = &s->planned->trial;
	json_t *list = json_array();

	for (unsigned i = 0; i < t->benchmark->n_metrics; i++) {
		const struct metric *m = &t->benchmark->metrics[i];
		const char *missing =
			s->samples && !metric_is_time(m) ? "not reported for this trial" : why;

		const struct estimates e = metric_is_time(m) ? time : estimates_metric(s, i, time);
		json_t *object = metric_json(m, e, missing);

		reports_detail(s, i, object);
		json_array_append_new(list, object);
	}
	return list;
}
