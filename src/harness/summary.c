/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/options.h"
#include "harness/statistics.h"
#include "harness/summary.h"
#include "harness/values.h"
#include "machine/topology.h"

const char *const status_names[STATUSES] = { [OK] = "ok",
					     [UNCONVERGED] = "unconverged",
					     [NOISY] = "noisy",
					     [INTERRUPTED] = "interrupted",
					     [MISPLACED] = "misplaced",
					     [WRONG] = "wrong",
					     [FAILED] = "failed",
					     [IMPOSSIBLE] = "impossible" };

static const char *const stopped_names[] = {
	[CONVERGED] = "converged", [BUDGET] = "budget", [REPEATS] = "repeats", [SIGNAL] = "signal"
};

struct verdict {
	enum status status;
	json_t *reasons, *notes;
};

/* What is OK is a note. */
static void find(struct verdict *v, enum status status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void find(struct verdict *v, enum status status, const char *format, ...)
{
	char text[1024];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	json_array_append_new(status == OK ? v->notes : v->reasons, utf8_json(text));
	if (status > v->status)
		v->status = status;
}

/* A number, its interval, and the number without the noisy samples; NAN where there is none. */
struct result_of {
	struct estimate all;
	double clean;
};

/*
 * Of a statistic of each batch: of `value`, its median; without one, of time, less the noisy
 * samples.
 */
static struct estimate estimate_batches(const struct series *s, const double *value)
{
	double *x = calloc(s->batches + 1, sizeof(*x));
	struct estimate e = { NAN, NAN, NAN };

	for (unsigned i = 0; x && i < s->batches; i++)
		x[i] = value ? quantile_known(value + s->batch[i].first, NULL, s->batch[i].samples,
					      0.5)
			     : s->batch[i].clean;
	if (x)
		e = series_estimate(s, -1, x);
	free(x);
	return e;
}

static struct result_of estimate_time(const struct series *s)
{
	return (struct result_of){ series_estimate(s, -1, NULL), estimate_batches(s, NULL).value };
}

/* amount / time: order statistics keep their ranks when time is turned over. */
static struct result_of invert(struct result_of time, double amount)
{
	return (struct result_of){ { amount / time.all.value, amount / time.all.high,
				     amount / time.all.low },
				   amount / time.clean };
}

/* An impossible trial may lack what amount() asks for: its places. */
static struct result_of estimate_metric(const struct series *s, unsigned metric,
					struct result_of time)
{
	const struct trial *t = &s->planned->trial;
	const struct metric *m = &t->benchmark->metrics[metric];
	struct result_of e = { { NAN, NAN, NAN }, NAN };

	if (s->samples && m->amount)
		return invert(time, m->amount(t));
	if (s->samples)
		e.all = estimate_batches(s, s->value[metric]);
	return e;
}

static json_t *metric_json(const char *name, const char *unit, enum better better,
			   struct result_of e, const char *why)
{
	static const char *const words[] = {
		[LOWER_IS_BETTER] = "lower", [HIGHER_IS_BETTER] = "higher"
	};

	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o?}", "name", name, "unit", unit,
			 "better", better == NEITHER ? json_null() : json_string(words[better]),
			 "value", number(e.all.value), "ci", interval(e.all.low, e.all.high),
			 "without_noise", number(e.clean), "why",
			 isfinite(e.all.value) ? NULL : utf8_json(why));
}

static json_t *metrics_json(const struct series *s, struct result_of time, const char *why)
{
	const struct trial *t = &s->planned->trial;
	json_t *list = json_array();

	for (unsigned i = 0; i < metric_count(t->benchmark); i++) {
		const struct metric *m = &t->benchmark->metrics[i];
		const char *missing =
			s->samples && !is_time(m) ? "not reported for this trial" : why;

		json_array_append_new(list,
				      metric_json(m->name, m->unit, m->better,
						  is_time(m) ? time : estimate_metric(s, i, time),
						  missing));
	}
	return list;
}

static size_t noisy_samples(const struct series *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->samples; i++)
		n += s->noisy[i];
	return n;
}

static json_t *samples_json(const struct series *s, struct verdict *v)
{
	double *sorted = calloc(s->samples + 1, sizeof(*sorted));
	unsigned heaps;
	size_t n = 0, clean = 0;
	json_t *quantiles, *object;

	if (!s->samples || !sorted) {
		free(sorted);
		return json_null();
	}
	for (size_t i = 0; i < s->samples; i++)
		if (isfinite(s->time[i]) && !s->noisy[i])
			sorted[clean++] = s->time[i];
	sort(sorted, clean);
	/* pairs have levels; what was disturbed is a heap of its own, and told apart already */
	heaps = s->pairs ? 1 : humps(sorted, clean);
	for (size_t i = 0; i < s->samples; i++)
		if (isfinite(s->time[i]))
			sorted[n++] = s->time[i];
	if (!n) {
		free(sorted);
		return json_null();
	}
	quantiles = quantiles_json(sorted, n);
	object = json_pack("{s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:i}", "n", (int)s->samples,
			   "batches", (int)s->batches, "noisy", (int)noisy_samples(s), "duration",
			   number(s->duration), "units", series_units_json(s), "quantiles",
			   quantiles, "mean", number(mean(sorted, n)), "deviation",
			   number(deviation(sorted, n)), "humps", (int)heaps);
	if (heaps == 2)
		find(v, OK,
		     "its samples fall into two heaps: look at the quantiles, one number does not "
		     "tell it");
	free(sorted);
	return object;
}

/* (max - min) / median of sorted values. */
static double spread(const double *sorted, size_t n)
{
	return n < 2 ? NAN : (sorted[n - 1] - sorted[0]) / quantile(sorted, n, 0.5);
}

static void allocations_json(const struct series *s, double *scratch, json_t *line)
{
	double *between = calloc(s->allocations + 1, sizeof(*between)),
	       *within = calloc(s->allocations + 1, sizeof(*within));
	json_t *list = json_array();
	size_t n = 0, m = 0;

	for (unsigned a = 0; between && within && a < s->allocations; a++) {
		size_t batches = 0;

		for (unsigned i = 0; i < s->batches; i++)
			if (s->batch[i].allocation == a && isfinite(s->batch[i].estimate))
				scratch[batches++] = s->batch[i].estimate;
		sort(scratch, batches);
		json_array_append_new(
			list, json_pack("{s:o, s:i}", "time",
					number(batches ? quantile(scratch, batches, 0.5) : NAN),
					"batches", (int)batches));
		if (batches)
			between[n++] = quantile(scratch, batches, 0.5);
		if (batches > 1)
			within[m++] = spread(scratch, batches);
	}
	sort(between, n);
	sort(within, m);
	json_object_set_new(line, "allocations", list);
	json_object_set_new(line, "spread_within", number(m ? quantile(within, m, 0.5) : NAN));
	json_object_set_new(line, "spread_between", number(spread(between, n)));
	free(between);
	free(within);
}

static json_t *one_placement_json(const struct placement *p)
{
	static const char *const how[] = {
		[VERIFIED] = "verified", [COUNTED] = "counted", [UNVERIFIED] = "unverified"
	};
	json_t *on_node = json_object(), *object;
	const bool known = p->how != UNVERIFIED, shared = p->how == VERIFIED && !p->used;

	for (unsigned i = 0; known && i < p->nodes; i++) {
		char key[16];

		snprintf(key, sizeof(key), "%u", i);
		if (p->on_node[i])
			json_object_set_new(on_node, key, json_integer((json_int_t)p->on_node[i]));
	}
	object = json_pack(
		"{s:s, s:o?, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "how", how[p->how], "why",
		utf8_json(shared ? "no page is one thread's alone" : p->why_not), "page",
		(json_int_t)p->page, "pages", (json_int_t)p->pages, "on_node", on_node, "unmapped",
		known ? json_integer((json_int_t)p->unmapped) : json_null(), "misplaced",
		known ? json_integer((json_int_t)p->misplaced) : json_null(), "local_share",
		p->how == VERIFIED && p->used ? json_real((double)p->local / (double)p->used)
					      : json_null(),
		"huge_bytes", p->huge_unknown ? json_null() : json_integer((json_int_t)p->huge),
		"huge_page", p->huge_page ? json_integer((json_int_t)p->huge_page) : json_null());
	if (p->huge_unknown)
		json_object_set_new(object, "huge_bytes_why",
				    json_string("/proc/self/smaps can't be read"));
	return object;
}

static json_t *placement_json(const struct series *s)
{
	if (!s->placed)
		return json_null();
	return json_pack("{s:o, s:o}", "before", one_placement_json(&s->before), "after",
			 one_placement_json(&s->after));
}

static json_t *noise_json(const struct series *s)
{
	const struct noise *n = &s->noise;

	if (!s->samples)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "samples",
			 number((double)noisy_samples(s) / (double)s->samples), "off_cpu",
			 number(n->off_cpu), "run_delay", number(n->delay), "involuntary",
			 (json_int_t)n->involuntary, "voluntary", (json_int_t)n->voluntary,
			 "minor_faults", (json_int_t)n->minor_faults, "major_faults",
			 (json_int_t)n->major_faults, "migrations", (json_int_t)n->migrations,
			 "steal", number(n->steal), "foreign",
			 number(n->foreign < 0 ? 0 : n->foreign), "wall", number(n->wall));
}

/* Of /proc/stat, s. */
#define TICK 0.01
/* A sample shorter than so many readings of the clock is in part one. */
#define READINGS 1000

static double median_skew(const struct series *s)
{
	double *sorted = calloc(s->samples + 1, sizeof(*sorted)), skew = NAN;

	if (sorted && s->samples && s->planned->trial.threads > 1 && !s->pairs) {
		memcpy(sorted, s->skews, s->samples * sizeof(*sorted));
		sort(sorted, s->samples);
		skew = quantile(sorted, s->samples, 0.5);
	}
	free(sorted);
	return skew;
}

/* Threads that begin further apart than this share of a sample. */
#define SKEWED 0.01

static void note_doubts(const struct series *s, struct verdict *v)
{
	const double skew = median_skew(s);
	size_t timeless = 0;

	for (size_t i = 0; i < s->samples; i++)
		timeless += !isfinite(s->time[i]);
	if (timeless && timeless < s->samples)
		find(v, OK,
		     "%zu of its %zu samples have no time, and are left out: in them workers were "
		     "not at work together, or did nothing",
		     timeless, s->samples);
	if (s->placed && !s->before.huge_unknown && s->before.huge < s->before.thp)
		find(v, OK,
		     "of %" PRIu64 " bytes asked for on transparent huge pages, %" PRIu64
		     " are on huge ones",
		     s->before.thp, s->before.huge);
	if (s->planned->trial.benchmark->scored != TOGETHER && !s->planned->trial.oversubscribed &&
	    skew > SKEWED * s->duration)
		find(v, OK,
		     "its threads begin %.2g s apart, %.2g %% of a sample, which is part of the "
		     "result: with more work it is less",
		     skew, 100 * skew / s->duration);
	if (s->duration < READINGS * s->overhead)
		find(v, OK,
		     "its samples last only %.0f times what reading the clock takes, which is part "
		     "of the result",
		     s->duration / s->overhead);
}

/* Pairs that take longer in company than alone by more than this share. */
#define CROWDED 0.1

static void note_crowding(const json_t *pairs, struct verdict *v)
{
	const json_t *level;
	size_t i;

	json_array_foreach(json_object_get(pairs, "levels"), i, level)
	{
		/* 0 where it is not known */
		double ratio = json_number_value(json_object_get(level, "crowding"));

		if (ratio > 1 + CROWDED)
			find(v, OK,
			     "pairs at %s take %.2f times as long side by side as alone: measure "
			     "two CPUs with --threads 2 --bind A,B to know them better",
			     json_string_value(json_object_get(level, "level")), ratio);
	}
}

static void judge_placement(const struct placement *p, const char *when, const struct machine *m,
			    struct verdict *v)
{
	char cause[400] = "";

	if (m->policy.kind == STEERED)
		snprintf(cause, sizeof(cause),
			 ": the inherited memory policy %s decides where they lie; lift it with "
			 "numactl --localalloc locus ...",
			 m->policy.text);
	if ((double)p->misplaced > MISPLACED_SHARE * (double)p->pages)
		find(v, MISPLACED,
		     "%" PRIu64 " of %" PRIu64
		     " pages were not where they were asked to be %s its samples%s",
		     p->misplaced, p->pages, when, cause);
}

static bool seated_on(const struct trial *t, int node)
{
	for (unsigned i = 0; i < t->threads; i++)
		if (t->place[i].node == node)
			return true;
	return false;
}

static bool has_node(const struct trial *t)
{
	for (unsigned i = 0; i < parameter_count(t->benchmark); i++)
		if (t->benchmark->parameters[i].type == P_NODE &&
		    has_parameter(t->benchmark, t->variant, i))
			return true;
	return false;
}

/* Where first touch can't leave a page with the thread that touches it. */
static void note_first_touch(const struct trial *t, struct verdict *v)
{
	const struct machine *m = t->machine;
	char lack[NODE_TEXT];

	for (unsigned i = 0; i < m->nodes && !has_node(t); i++)
		if (m->node[i].first_touch != m->node[i].number && seated_on(t, m->node[i].number))
			find(v, OK,
			     "threads sit on node %d, %s: what they touch first lies on node %d",
			     m->node[i].number, node_lack(m, &m->node[i], lack),
			     m->node[i].first_touch);
}

static void judge_noise(const struct series *s, struct result_of time, struct verdict *v)
{
	const struct noise *n = &s->noise;
	double share = (double)noisy_samples(s) / (double)s->samples,
	       moved = fabs(time.all.value - time.clean) / time.all.value;
	double steal = n->steal > 2 * TICK ? n->steal : 0; /* NAN is not */
	double lost = fmax(steal,
			   fmax(n->voluntary ? 0 : n->off_cpu, isfinite(n->delay) ? n->delay : 0)) /
		      n->wall;

	if (share <= NOISY_SHARE && moved <= CONVERGED_WITHIN && lost <= LOST_SHARE)
		return;
	find(v, NOISY,
	     "%.0f %% of its samples were disturbed (%" PRIu64 " involuntary switches, %" PRIu64
	     " migrations, %.3g s off the CPU, %.3g s stolen)%s",
	     100 * share, n->involuntary, n->migrations, n->off_cpu, steal,
	     moved > CONVERGED_WITHIN ? ", and that moved its result" : "");
}

static void judge(const struct series *s, struct result_of time, struct verdict *v)
{
	if (s->impossible || s->planned->refusal)
		find(v, IMPOSSIBLE, "%s", s->impossible ? s->impossible : s->planned->refusal);
	if (s->failure)
		find(v, FAILED, "%s", s->failure);
	if (s->wrong)
		find(v, WRONG, "%s", s->wrong);
	if (s->placed && s->before.how != VERIFIED)
		find(v, OK, "where its pages lie %s: %s",
		     s->before.how == COUNTED ? "was counted by node, and not read page by page"
					      : "is unverified",
		     s->before.why_not);
	if (s->placed) {
		judge_placement(&s->before, "before", s->planned->trial.machine, v);
		judge_placement(&s->after, "after", s->planned->trial.machine, v);
		note_first_touch(&s->planned->trial, v);
	}
	if (s->stopped == SIGNAL)
		find(v, INTERRUPTED,
		     s->samples ? "the run was interrupted before this trial was complete"
				: "the run was interrupted before this trial");
	if (v->status == IMPOSSIBLE || v->status == FAILED)
		return;
	if (!s->samples) {
		if (s->stopped != SIGNAL)
			find(v, INTERRUPTED,
			     s->ready ? "the time budget was spent before a batch of it was "
					"complete: give it more with --time-budget"
				      : "the time budget was spent before this trial; with "
					"--output, --resume goes on with it");
		return;
	}
	/* Only the watchdog comes before the answer is checked. */
	if (s->ready && s->stopped == BUDGET)
		find(v, INTERRUPTED,
		     "the time budget was spent before its answer was checked: give it more with "
		     "--time-budget");
	if (!isfinite(time.all.value) && s->planned->trial.benchmark->scored == TOGETHER)
		find(v, UNCONVERGED,
		     "its workers were never at work together: one was done before another had "
		     "begun");
	else if (!isfinite(time.all.value))
		find(v, FAILED, "its work did nothing: no unit was counted");
	else if (s->stopped == BUDGET)
		find(v, UNCONVERGED,
		     isfinite(time.all.low)
			     ? "the budget was spent before the interval came within 1 %%"
			     : "the budget was spent before there were %d batches for an interval",
		     LEAST_VALUES);
	if (isfinite(time.all.value))
		judge_noise(s, time, v);
	note_doubts(s, v);
}

/* Counts that may be none, or of few batches, and counting that was not for nothing. */
static void note_counters(const struct series *s, const json_t *counters, const json_t *counting,
			  struct verdict *v)
{
	const json_t *counter, *with = json_object_get(counting, "with_ci"),
			       *without = json_object_get(counting, "without_ci");
	unsigned counted, batches;
	size_t i;

	json_array_foreach(counters, i,
			   counter) if (json_is_false(json_object_get(counter, "trusted")))
		find(v, OK, "%s is not to be trusted: %s",
		     json_string_value(json_object_get(counter, "name")),
		     json_string_value(json_object_get(counter, "why")));
	for (unsigned event = 0; event < s->tally.events; event++) {
		const char *why = counting_gap(s, event, &counted, &batches);

		if (why) /* the trial's events come first */
			find(v, OK, "%s has a count in %u of %u batches: %s",
			     json_string_value(
				     json_object_get(json_array_get(counters, event), "name")),
			     counted, batches, why);
	}
	if (json_is_array(with) && json_is_array(without) &&
	    (json_number_value(json_array_get(with, 0)) >
		     json_number_value(json_array_get(without, 1)) ||
	     json_number_value(json_array_get(with, 1)) <
		     json_number_value(json_array_get(without, 0))))
		find(v, OK,
		     "counting changes its time: %.4g s with counters and %.4g s without; its time "
		     "is that of both",
		     json_number_value(json_object_get(counting, "with")),
		     json_number_value(json_object_get(counting, "without")));
}

static json_t *parameters_json(const struct trial *t)
{
	json_t *object = json_object();
	char text[VALUE_ROOM];

	for (unsigned i = 0; i < parameter_count(t->benchmark); i++) {
		const struct parameter *p = &t->benchmark->parameters[i];
		json_t *value;

		if (!has_parameter(t->benchmark, t->variant, i) || p->output)
			continue;
		if (p->type == P_REAL)
			value = json_real(t->value[i].real);
		else if (p->type == P_COUNT || p->type == P_SIZE || p->type == P_NODE)
			value = json_integer((json_int_t)t->value[i].count);
		else
			value = json_string(value_print(p, t->value[i], text, sizeof(text)));
		json_object_set_new(object, p->name, value);
	}
	return object;
}

static json_t *cpus_json(const struct planned *p)
{
	json_t *list = json_array();

	for (unsigned i = 0; p->trial.place && !p->refusal && i < p->trial.threads; i++)
		json_array_append_new(list, json_integer(p->trial.place[i].cpu));
	return list;
}

/*
 * True where two trials differ in this parameter, and in nothing else. What one of them has no use
 * for, it does not differ in.
 */
static bool differ_in(const struct trial *a, const struct trial *b, unsigned parameter)
{
	const uint64_t lacks = a->variant->unused | b->variant->unused;

	if ((a->variant == b->variant) == (parameter == P_VARIANT) ||
	    (a->threads == b->threads) == (parameter == P_THREADS))
		return false;
	for (unsigned i = 0; i < parameter_count(a->benchmark); i++) {
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

/* True if the ratio is one of this trial to others. */
static bool is_related(const struct ratio *r, const struct trial *t)
{
	return r->parameter == P_THREADS || has_value(t, r->parameter, r->of);
}

/* True if the ratio, which is one of s, is that to the other trial. */
static bool relates(const struct ratio *r, const struct series *s, const struct series *other,
		    const struct series *group, unsigned n)
{
	const struct trial *t = &s->planned->trial, *to = &other->planned->trial;

	if (!other->samples || !differ_in(t, to, r->parameter))
		return false;
	if (r->parameter != P_THREADS)
		return has_value(to, r->parameter, r->to);
	for (unsigned i = 0; i < n; i++)
		if (group[i].samples && group[i].planned->trial.threads < t->threads &&
		    differ_in(t, &group[i].planned->trial, P_THREADS))
			return false;
	return true;
}

/* What is compared: a value of a parameter, a variant, or how many threads. */
static json_t *side(const struct ratio *r, const char *value, const struct trial *t)
{
	return r->parameter == P_THREADS ? json_sprintf("%u", t->threads) : json_string(value);
}

static const char *compared(const struct ratio *r, const struct benchmark *b)
{
	return r->parameter == P_VARIANT   ? "variant"
	       : r->parameter == P_THREADS ? "threads"
					   : b->parameters[r->parameter].name;
}

/* What a ratio is of; NULL: the time. */
static const struct metric *metric_of(const struct ratio *r, const struct benchmark *b)
{
	for (unsigned i = 0; r->metric && i < metric_count(b); i++)
		if (!strcmp(b->metrics[i].name, r->metric))
			return &b->metrics[i];
	return NULL;
}

static struct estimate estimate_of(const struct series *s, const struct metric *m)
{
	return m ? estimate_metric(s, (unsigned)(m - s->planned->trial.benchmark->metrics),
				   estimate_time(s))
			       .all
		 : series_estimate(s, -1, NULL);
}

/*
 * The one trial's number over the other's, from bound to bound of their intervals; NULL where one
 * has none.
 */
static json_t *ratio_json(const struct ratio *r, const struct series *s, const struct series *to)
{
	const struct trial *t = &s->planned->trial;
	const struct metric *m = metric_of(r, t->benchmark);
	const bool turned = m && m->better == HIGHER_IS_BETTER;
	struct estimate a = estimate_of(turned ? to : s, m), b = estimate_of(turned ? s : to, m);

	if (!isfinite(a.value) || !isfinite(b.value) || s->wrong || to->wrong)
		return NULL;
	return json_pack("{s:s, s:s, s:o, s:o, s:s, s:s, s:o, s:o}", "name", r->name, "metric",
			 m ? m->name : "time", "of", side(r, r->of, t), "to",
			 side(r, r->to, &to->planned->trial), "parameter",
			 compared(r, t->benchmark), "trial", to->planned->id, "value",
			 number(a.value / b.value), "ci", interval(a.low / b.high, a.high / b.low));
}

static json_t *ratios_json(const struct series *s, const struct series *group, unsigned n)
{
	const struct trial *t = &s->planned->trial;
	json_t *list = json_array();

	for (const struct ratio *r = t->benchmark->ratios; r && r->name && s->samples; r++)
		for (unsigned i = 0; i < n && is_related(r, t); i++) {
			json_t *ratio = relates(r, s, &group[i], group, n)
						? ratio_json(r, s, &group[i])
						: NULL;

			if (ratio)
				json_array_append_new(list, ratio);
		}
	return list;
}

static double median_cycle(const struct series *s, double *scratch)
{
	size_t n = 0;

	for (unsigned i = 0; i < s->batches; i++)
		if (s->batch[i].cycle > 0)
			scratch[n++] = s->batch[i].cycle;
	sort(scratch, n);
	return n ? quantile(scratch, n, 0.5) : NAN;
}

/* CPUs with a worker where LIKWID entered the region, and all its counters read zero. */
static json_t *uncounted_json(const struct series *s)
{
	const struct trial *t = &s->planned->trial;
	json_t *cpus = json_array();

	for (unsigned i = 0; i < t->threads; i++)
		if (!markers_counted(s->markers, s->region, t->place[i].cpu))
			json_array_append_new(cpus, json_integer(t->place[i].cpu));
	return cpus;
}

/* LIKWID's region around the batches of this trial, on this rank. */
static json_t *region_json(const struct series *s)
{
	const struct markers *m = s->markers;

	if (!m || !markers_calls(m, s->region))
		return json_null();
	return json_pack("{s:s, s:I, s:o, s:o, s:o}", "name", markers_name(m, s->region), "calls",
			 (json_int_t)markers_calls(m, s->region), "seconds",
			 number(markers_seconds(m, s->region)), "measured", number(s->marked),
			 "uncounted", uncounted_json(s));
}

static void note_uncounted(const struct series *s, struct verdict *v)
{
	json_t *cpus = uncounted_json(s);
	char *list = json_dumps(cpus, JSON_COMPACT);
	const size_t n = json_array_size(cpus);

	if (n && list)
		find(v, OK,
		     "all of LIKWID's counters read zero on CPU%s %.*s, %s: do not believe what it "
		     "adds up of this trial",
		     n > 1 ? "s" : "", (int)strlen(list) - 2, list + 1,
		     n < s->planned->trial.threads ? "where a thread of this trial ran"
						   : "so it counted nothing");
	free(list);
	json_decref(cpus);
}

static void note_region(const struct series *s, struct verdict *v)
{
	const struct trial *t = &s->planned->trial;
	unsigned outside = 0;

	for (unsigned i = 0; s->markers && s->samples && i < t->threads; i++)
		outside += !markers_cover(s->markers, t->place[i].cpu);
	if (outside)
		find(v, OK,
		     "LIKWID counted on CPUs %s alone, where %u of its %u threads were not: give "
		     "likwid-perfctr -C or -c all CPUs",
		     markers_cpus(s->markers), outside, t->threads);
	if (s->markers)
		note_uncounted(s, v);
}

json_t *summary(const struct series *s, const struct series *group, unsigned n, const char *started,
		enum status *status)
{
	const struct planned *p = s->planned;
	const struct benchmark *b = p->trial.benchmark;
	struct verdict v = { OK, json_array(), json_array() };
	double *scratch = calloc(s->batches + 1, sizeof(*scratch)), cycle;
	struct result_of time = estimate_time(s);
	json_t *line, *metrics, *pairs, *samples = samples_json(s, &v), *counters,
					*counting = counting_json(s);
	const char *why;

	judge(s, time, &v);
	pairs = s->pairs ? pairs_json(s->pairs, &p->trial) : NULL;
	note_crowding(pairs, &v);
	note_region(s, &v);
	why = json_array_size(v.reasons) ? json_string_value(json_array_get(v.reasons, 0))
					 : "not measured";
	metrics = metrics_json(s, time, why);
	counters = counters_json(s, s->samples ? NULL : why);
	note_counters(s, counters, counting, &v);
	cycle = median_cycle(s, scratch);
	line = json_pack(
		"{s:s, s:s, s:s, s:s, s:o, s:i, s:o?, s:o, s:b, s:s, s:s, s:o, s:o, s:s, s:{s:f, "
		"s:s, s:s}, s:o, s:o}",
		"id", p->id, "identity", p->identity, "benchmark", b->name, "variant",
		p->trial.variant->name, "parameters", parameters_json(&p->trial), "threads",
		(int)p->trial.threads, "bind", utf8_json(p->bind), "cpus", cpus_json(p),
		"oversubscribed", p->trial.oversubscribed, "protocol", b->protocol, "status",
		status_names[v.status], "reasons", v.reasons, "notes", v.notes, "unit", b->unit,
		"statistic", "quantile", 0.5, "of",
		s->pairs ? "meetings of a pair in a batch" : "samples in a batch", "then",
		s->pairs ? "mean over pairs, then median over batches, then over allocations"
			 : "median over batches, then over allocations",
		"metrics", metrics, "samples", samples);
	allocations_json(s, scratch, line);
	json_object_update_new(
		line, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:o, s:s, s:o}",
				"ratios", ratios_json(s, group, n), "pairs",
				pairs ? pairs : json_null(), "counters", counters, "counting",
				counting, "placement", placement_json(s), "noise", noise_json(s),
				"cycle", number(cycle), "cycles", number(time.all.value / cycle),
				"skew", number(median_skew(s)), "group", (int)p->group, "stopped",
				s->samples && stopped_names[s->stopped]
					? json_string(stopped_names[s->stopped])
					: json_null(),
				"started", started, "elapsed", number(s->elapsed)));
	json_object_set_new(line, "region", region_json(s));
	*status = v.status;
	free(scratch);
	return line;
}
