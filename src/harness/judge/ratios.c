/* SPDX-License-Identifier: Apache-2.0 */
/* Ratios of trials that were sampled in turn. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/sample/reports.h"
#include "harness/judge/summary.h"
#include "harness/record/record.h"
#include "harness/ask/parameters.h"

/*
 * Whether two trials differ in this parameter alone. Parameters that one of them does not use do
 * not count.
 */
static bool differ_in(const struct trial *a, const struct trial *b, unsigned parameter)
{
	const uint64_t lacks = a->variant->unused | b->variant->unused;

	if ((a->variant == b->variant) == (parameter == P_VARIANT) ||
	    (a->threads == b->threads) == (parameter == P_THREADS))
		return false;
	for (unsigned i = 0; i < a->benchmark->n_parameters; i++) {
		bool same = lacks & BIT(i) ||
			    value_same(&a->benchmark->parameters[i], a->value[i], b->value[i]);

		if (same == (i == parameter))
			return false;
	}
	return true;
}

static bool has_value(const struct trial *t, unsigned parameter, const char *value)
{
	char text[VALUE_ROOM];

	if (parameter == P_VARIANT)
		return !strcmp(t->variant->name, value);
	return !(t->variant->unused & BIT(parameter)) &&
	       !strcmp(value_print(&t->benchmark->parameters[parameter], t->value[parameter], text,
				   sizeof(text)),
		       value);
}

/* Whether the ratio compares this trial with others. */
static bool is_related(const struct ratio *r, const struct trial *t)
{
	return r->parameter == P_THREADS || has_value(t, r->parameter, r->of);
}

/* Whether the ratio, of which s is the first trial, compares it with the other one. */
static bool relates(const struct ratio *r, const struct series *s, const struct series *other,
		    const struct series *group, unsigned n)
{
	const struct trial *t = &s->planned->trial, *to = &other->planned->trial;

	if (!other->samples.n || !differ_in(t, to, r->parameter))
		return false;
	if (r->parameter != P_THREADS)
		return has_value(to, r->parameter, r->to);
	for (unsigned i = 0; i < n; i++)
		if (group[i].samples.n && group[i].planned->trial.threads < t->threads &&
		    differ_in(t, &group[i].planned->trial, P_THREADS))
			return false;
	return true;
}

/* One side of the comparison: a parameter's value, a variant, or a number of threads. */
static json_t *side(const struct ratio *r, const char *value, const struct trial *t)
{
	return r->parameter == P_THREADS ? json_sprintf("%u", t->threads) : json_string(value);
}

const char *ratios_parameter(const struct ratio *r, const struct benchmark *b)
{
	return r->parameter == P_VARIANT   ? "variant"
	       : r->parameter == P_THREADS ? "threads"
					   : b->parameters[r->parameter].name;
}

/* The metric that a ratio compares; NULL: the time. */
static const struct metric *metric_of(const struct ratio *r, const struct benchmark *b)
{
	for (unsigned i = 0; r->metric && i < b->n_metrics; i++)
		if (!strcmp(b->metrics[i].name, r->metric))
			return &b->metrics[i];
	return NULL;
}

/* A trial's number in a batch: the metric, or the time if it is NULL. */
static double in_batch(const struct series *s, unsigned batch, const struct metric *m,
		       unsigned aside)
{
	const struct trial *t = &s->planned->trial;
	const double *value = m ? s->samples.value[m - t->benchmark->metrics] : NULL;

	if (m && m->amount)
		return m->amount(t) / estimates_batch(&s->samples, batch, NULL, aside);
	return m && !value ? NAN : estimates_batch(&s->samples, batch, value, aside);
}

/* The batch that a trial had in a round of the group; its number of batches if it had none. */
static unsigned batch_of_round(const struct samples *s, unsigned round)
{
	unsigned i = 0;

	while (i < s->batches && s->batch[i].round != round)
		i++;
	return i;
}

/*
 * One trial's number over the other's. Both had their batches in the same rounds, so each round has
 * a ratio: slow rounds cancel, and the interval is narrower than one from bound to bound. NAN if no
 * round has a number of both.
 */
static struct estimate estimate_rounds(const struct series *of, const struct series *to,
				       const struct metric *m)
{
	const unsigned aside[] = { samples_aside(&of->samples), samples_aside(&to->samples) };
	double *x = calloc(of->samples.batches + 1, sizeof(*x));
	struct estimate e = ESTIMATE_UNKNOWN;

	for (unsigned i = 0; x && i < of->samples.batches; i++) {
		const unsigned other = batch_of_round(&to->samples, of->samples.batch[i].round);

		x[i] = other < to->samples.batches ? log(in_batch(of, i, m, aside[0]) /
							 in_batch(to, other, m, aside[1]))
						   : NAN;
	}
	if (x)
		e = samples_estimate(&of->samples, x);
	free(x);
	return (struct estimate){ .value = exp(e.value),
				  .low = exp(e.low),
				  .high = exp(e.high),
				  .least = exp(e.least),
				  .most = exp(e.most),
				  .groups = e.groups };
}

/*
 * The typical scatter of this metric's ratios in the group: each trial is compared with the next.
 */
static double typical_of(const struct series *group, unsigned n, const struct metric *m)
{
	double *scatter = calloc(n + 1, sizeof(*scatter)), typical;

	if (!scatter)
		return 0;
	for (unsigned i = 0; i < n; i++)
		scatter[i] = estimate_scatter(estimate_rounds(&group[i], &group[(i + 1) % n], m));
	typical = estimate_typical(scatter, n);
	free(scatter);
	return typical;
}

static double number_of(const struct series *s, const struct metric *m)
{
	const struct estimates time = estimates_time(&s->samples);

	return m ? reports_metric(&s->samples, &s->planned->trial,
				  (unsigned)(m - s->planned->trial.benchmark->metrics), time)
			       .kept.value
		 : time.kept.value;
}

/*
 * The interval is widened as intervals of times are, since both trials may have ended because they
 * were narrow by chance. Without a common round, the quotient of the two numbers has no interval.
 */
static struct estimate estimate_ratio(const struct series *of, const struct series *to,
				      const struct metric *m, double typical)
{
	struct estimate e = estimate_widened(estimate_rounds(of, to, m), typical);

	if (!isfinite(e.value))
		e.value = number_of(of, m) / number_of(to, m);
	return e;
}

/* The metric by which two trials have found different answers; NULL: none. */
static const struct metric *differing_answer(const struct series *s, const struct series *to)
{
	const struct benchmark *b = s->planned->trial.benchmark;

	for (const struct metric *m = b->metrics; m < b->metrics + b->n_metrics; m++) {
		const double one = number_of(s, m), other = number_of(to, m);

		if (m->same > 0 && fabs(one - other) > m->same * fmax(fabs(one), fabs(other)))
			return m;
	}
	return NULL;
}

static void note_answers(struct verdict *v, const struct ratio *r, const struct series *s,
			 const struct series *to, const struct metric *m)
{
	verdict_add(v, STATUS_OK, "no %s of %s over %s: their %s differs, %.6g and %.6g", r->name,
		    r->of, r->to, m->name, number_of(s, m), number_of(to, m));
}

/* NULL if one of them has no number, or a wrong answer. */
static json_t *ratio_json(const struct ratio *r, const struct series *s, const struct series *to,
			  double typical)
{
	const struct trial *t = &s->planned->trial;
	const struct metric *m = metric_of(r, t->benchmark);
	const bool turned = m && m->better == HIGHER_IS_BETTER;
	const struct estimate e = estimate_ratio(turned ? to : s, turned ? s : to, m, typical);

	if (!isfinite(e.value) || s->evidence.wrong || to->evidence.wrong)
		return NULL;
	return json_pack("{s:i, s:s, s:s, s:o, s:o, s:s, s:s, s:o, s:o, s:o}", "ratio",
			 (int)(r - t->benchmark->ratios), "name", r->name, "metric",
			 m ? m->name : "time", "of", side(r, r->of, t), "to",
			 side(r, r->to, &to->planned->trial), "parameter",
			 ratios_parameter(r, t->benchmark), "trial", to->planned->id, "value",
			 record_number(e.value), "ci", record_interval(e.low, e.high), "range",
			 reports_range(e));
}

/* Adds the ratio of a trial to another one, or notes why there is none. */
static void add_ratio(json_t *list, const struct ratio *r, const struct series *s,
		      const struct series *to, double typical, struct verdict *v)
{
	json_t *ratio = ratio_json(r, s, to, typical);
	const struct metric *differing = ratio ? differing_answer(s, to) : NULL;

	if (differing) {
		note_answers(v, r, s, to, differing);
		json_decref(ratio);
	} else if (ratio) {
		json_array_append_new(list, ratio);
	}
}

json_t *ratios_json(const struct series *s, const struct series *group, unsigned n,
		    struct verdict *v)
{
	const struct trial *t = &s->planned->trial;
	const struct benchmark *b = t->benchmark;
	json_t *list = json_array();

	for (unsigned k = 0; k < b->n_ratios && s->samples.n; k++) {
		const struct ratio *r = &b->ratios[k];
		double typical;

		if (!is_related(r, t))
			continue;
		typical = typical_of(group, n, metric_of(r, b));
		for (unsigned i = 0; i < n; i++)
			if (relates(r, s, &group[i], group, n))
				add_ratio(list, r, s, &group[i], typical, v);
	}
	return list;
}
