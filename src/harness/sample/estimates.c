/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "harness/sample/estimates.h"
#include "harness/sample/metrics.h"
#include "harness/record/json.h"
#include "harness/sample/reports.h"
#include "base/utf8.h"

struct estimate estimates_values(const struct series *s, const double *value)
{
	double *x = calloc(s->batches + 1, sizeof(*x));
	struct estimate e = { NAN, NAN, NAN };

	for (unsigned i = 0; x && i < s->batches; i++)
		x[i] = value ? statistics_quantile_known(value + s->batch[i].first, NULL,
							 s->batch[i].samples, 0.5)
			     : s->batch[i].clean;
	if (x)
		e = series_estimate(s, -1, x);
	free(x);
	return e;
}

struct estimates estimates_time(const struct series *s)
{
	return (struct estimates){ series_estimate(s, -1, NULL), estimates_values(s, NULL).value };
}

/* amount / time: inverting only reverses the order of the times, so the interval's ends swap. */
static struct estimates invert(struct estimates time, double amount)
{
	return (struct estimates){ { amount / time.all.value, amount / time.all.high,
				     amount / time.all.low },
				   amount / time.clean };
}

/* amount() is called only if there are samples: an impossible trial may have no places. */
struct estimates estimates_metric(const struct series *s, unsigned metric, struct estimates time)
{
	const struct trial *t = &s->planned->trial;
	const struct metric *m = &t->benchmark->metrics[metric];
	struct estimates e = { { NAN, NAN, NAN }, NAN };

	if (s->samples && m->amount)
		return invert(time, m->amount(t));
	if (s->samples)
		e.all = estimates_values(s, s->value[metric]);
	return e;
}

static json_t *metric_json(const char *name, const char *unit, enum better better,
			   struct estimates e, const char *why)
{
	static const char *const words[] = {
		[LOWER_IS_BETTER] = "lower", [HIGHER_IS_BETTER] = "higher"
	};

	return json_pack(
		"{s:s, s:s, s:o, s:o, s:o, s:o, s:o?}", "name", name, "unit", unit, "better",
		better == NEITHER_IS_BETTER ? json_null() : json_string(words[better]), "value",
		record_number(e.all.value), "ci", record_interval(e.all.low, e.all.high),
		"without_noise", record_number(e.clean), "why",
		isfinite(e.all.value) ? NULL : utf8_json(why));
}

json_t *estimates_json(const struct series *s, struct estimates time, const char *why)
{
	const struct trial *t = &s->planned->trial;
	json_t *list = json_array();

	for (unsigned i = 0; i < metric_count(t->benchmark); i++) {
		const struct metric *m = &t->benchmark->metrics[i];
		const char *missing =
			s->samples && !metric_is_time(m) ? "not reported for this trial" : why;

		const struct estimates e = metric_is_time(m) ? time : estimates_metric(s, i, time);
		json_t *object = metric_json(m->name, m->unit, m->better, e, missing);

		reports_detail(s, i, object);
		json_array_append_new(list, object);
	}
	return list;
}
