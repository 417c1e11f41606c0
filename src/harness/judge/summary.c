/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "harness/ask/options.h"
#include "harness/ask/parameters.h"
#include "harness/judge/summary.h"
#include "harness/record/record.h"
#include "harness/sample/counts.h"
#include "harness/sample/reductions.h"
#include "harness/sample/reports.h"

/* --- what was measured --- */

static json_t *parameters_json(const struct trial *t)
{
	json_t *object = json_object();
	char text[VALUE_ROOM];

	for (unsigned i = 0; i < t->benchmark->n_parameters; i++) {
		const struct parameter *p = &t->benchmark->parameters[i];
		json_t *value;

		if (!parameter_applies(t->benchmark, t->variant, i) || p->output)
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

/* The trial's description: what was measured, and where. */
static json_t *trial_json(const struct planned *p)
{
	const struct benchmark *b = p->trial.benchmark;

	return json_pack("{s:s, s:s, s:s, s:s, s:o, s:i, s:o?, s:o, s:o*, s:o?}", "id", p->id,
			 "identity", p->identity, "benchmark", b->name, "variant",
			 p->trial.variant->name, "parameters", parameters_json(&p->trial),
			 "threads", (int)p->trial.threads, "bind", utf8_json(p->bind), "cpus",
			 cpus_json(p), "kinds", utf8_json(p->kinds), "oversubscribed",
			 p->trial.oversubscribed ? json_true() : NULL);
}

/* --- its end: the status, its reasons and notes --- */

/* %: smaller changes would be printed as "+0.0 %". */
#define LEAST_CHANGE 0.05

/* Reasons and notes that do not depend on the samples' times. */
static void judge_course(const struct series *s, struct verdict *v)
{
	const char *impossible =
		s->evidence.impossible ? s->evidence.impossible : s->planned->refusal;
	const json_t *note;
	size_t i;

	json_array_foreach(s->planned->notes, i, note)
		verdict_add(v, STATUS_OK, "%s", json_string_value(note));
	if (impossible)
		verdict_add(v, STATUS_IMPOSSIBLE, "%s", impossible);
	if (s->evidence.failure)
		verdict_add(v, STATUS_FAILED, "%s", s->evidence.failure);
	if (s->evidence.wrong)
		verdict_add(v, STATUS_WRONG, "%s", s->evidence.wrong);
	placement_judge(s, v);
	if (s->stopped == STOPPED_SIGNAL)
		verdict_add(v, STATUS_INTERRUPTED,
			    s->samples.n ? "the run was interrupted before this trial was complete"
					 : "the run was interrupted before this trial");
}

/* The status of a trial without samples, if no reason was found before. */
static void judge_lack(const struct series *s, struct verdict *v)
{
	if (s->stopped != STOPPED_SIGNAL)
		verdict_add(v, STATUS_INTERRUPTED,
			    s->begun ? "stopped by the time budget before a batch was complete: "
				       "give more with --time-budget"
				     : "the time budget was spent before this trial: give more "
				       "with --time-budget");
}

/* If an interval's half is wider than this, the other half cannot be derived from it. */
#define WIDE 0.5

static void judge_width(const struct series *s, struct estimate time, struct verdict *v)
{
	if (s->planned->repeats)
		verdict_add(v, STATUS_UNCONVERGED,
			    "stopped by the time budget after %zu of %u samples", s->samples.n,
			    s->planned->repeats);
	else if (estimate_reach(time) > WIDE)
		verdict_add(v, STATUS_UNCONVERGED,
			    "stopped by the time budget at %.2g to %.2g times the value (target "
			    "±%.0f %%)",
			    time.low / time.value, time.high / time.value, 100 * s->task.within);
	else if (isfinite(time.low))
		verdict_add(v, STATUS_UNCONVERGED,
			    "stopped by the time budget at ±%.1f %% (target ±%.0f %%)",
			    100 * estimate_reach(time), 100 * s->task.within);
	else
		verdict_add(v, STATUS_UNCONVERGED,
			    "stopped by the time budget after %u of %d allocations that an "
			    "interval needs",
			    time.groups, LEAST_VALUES);
}

/* The median of the last third of the values over the median of the first third. */
static double change(const double *x, size_t n)
{
	const size_t third = n / 3;

	return statistics_quantile_known(x + n - third, third, 0.5) /
	       statistics_quantile_known(x, third, 0.5);
}

/* If the machine changes meanwhile, the value holds only for the time of measurement. */
static void note_trend(const struct samples *s, struct verdict *v)
{
	double *medians = calloc(s->batches + 1, sizeof(*medians));
	const size_t n = medians ? estimates_allocations(s, medians) : 0;
	const double percent = n < LEAST_VALUES ? 0 : 100 * (change(medians, n) - 1);

	if (statistics_has_trend(medians, n) && fabs(percent) >= LEAST_CHANGE)
		verdict_add(
			v, STATUS_OK,
			"drifted by %+.1f %% from the first third of its allocations to the last",
			percent);
	free(medians);
}

static void judge_samples(const struct series *s, struct estimates time, struct verdict *v)
{
	const bool known = isfinite(time.kept.value);

	/* A series that is still ready is summarised by the watchdog: its answer is not checked. */
	if (s->ready && s->stopped == STOPPED_BUDGET)
		verdict_add(v, STATUS_INTERRUPTED,
			    "stopped by the time budget before the answer was checked: give more "
			    "with --time-budget");
	if (!known && s->planned->trial.benchmark->protocol.scored == TOGETHER)
		verdict_add(v, STATUS_UNCONVERGED,
			    "its workers never worked at the same time: one had finished before "
			    "another began");
	else if (!known)
		verdict_add(v, STATUS_FAILED, "it did no work: no unit was counted");
	else if (s->stopped == STOPPED_BUDGET)
		judge_width(s, time.kept, v);
	if (known)
		noise_judge(s, time, v);
	note_trend(&s->samples, v);
	placement_note_huge(s, v);
	samples_note_doubts(s, v);
}

/* Adds to the reasons what delayed a trial that was begun. */
static void judge_pace(const struct series *s, struct verdict *v)
{
	char *cause[] = { conditions_quota(s->task.conditions, s->planned->trial.threads),
			  conditions_cause(s->task.conditions, CONDITIONS_PACE),
			  samples_aside(&s->samples) & SAMPLE_CROWDED
				  ? NULL
				  : noise_crowded(&s->evidence.noise) };

	for (unsigned i = 0; i < sizeof(cause) / sizeof(*cause); i++) {
		if (cause[i])
			verdict_add(v, v->status, "%s", cause[i]);
		free(cause[i]);
	}
}

static void judge(const struct series *s, struct estimates time, struct verdict *v)
{
	judge_course(s, v);
	if (v->status == STATUS_IMPOSSIBLE || v->status == STATUS_FAILED)
		return;
	if (s->samples.n)
		judge_samples(s, time, v);
	else
		judge_lack(s, v);
	if (v->status != STATUS_OK && s->begun)
		judge_pace(s, v);
}

/* --- the line --- */

static const char *const stopped_names[] = { [STOPPED_CONVERGED] = "converged",
					     [STOPPED_BUDGET] = "budget",
					     [STOPPED_REPEATS] = "repeats",
					     [STOPPED_SIGNAL] = "signal" };

static json_t *stopped_json(const struct series *s)
{
	const char *name = s->samples.n ? stopped_names[s->stopped] : NULL;

	return name ? json_string(name) : json_null();
}

json_t *summary(const struct series *s, const struct series *group, unsigned n, double at,
		enum status *status)
{
	const struct planned *p = s->planned;
	const struct estimates time = estimates_time(&s->samples);
	const double cycle = samples_cycle(s, time.kept.value);
	struct verdict v = { STATUS_OK, json_array(), json_array() };
	json_t *line = trial_json(p), *samples = samples_json(s, &v), *pairs, *counters, *ratios,
	       *counting = counts_cost_json(s);
	const char *why;

	judge(s, time, &v);
	pairs = summary_pairs(s->pairs, &p->trial, &v);
	ratios = ratios_json(s, group, n, &v);
	region_note(s, &v);
	why = json_array_size(v.reasons) ? json_string_value(json_array_get(v.reasons, 0))
					 : "not measured";
	counters = counts_json(s, s->samples.n ? NULL : why);
	counters_note(s, counters, counting, &v);
	json_object_update_new(
		line,
		json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "status", status_names[v.status],
			  "reasons", v.reasons, "notes", v.notes, "metrics",
			  reports_json(s->reports, &s->samples, &p->trial, time, why), "samples",
			  samples, "batches", batches_json(&s->samples, p->trial.benchmark)));
	if (s->reports->rows)
		json_object_set_new(line, "rows", rows_json(s->reports->rows));
	json_object_set_new(line, "roles", throughput_json(s->throughput, &p->trial, &s->samples));
	json_object_update_new(
		line,
		json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:o, "
			  "s:o, s:o, s:o, s:o}",
			  "ratios", ratios, "pairs", pairs, "counters", counters, "kernel",
			  counts_kernel_json(s), "kernel_unknown", counts_kernel_unknown_json(s),
			  "counting", counting, "placement",
			  placement_json(&s->evidence.placements), "noise", noise_json(s), "cycle",
			  record_number(cycle), "cycles", record_number(time.kept.value / cycle),
			  "skew", record_number(samples_skew(s)), "group", (int)p->group, "stopped",
			  stopped_json(s), "at", record_number(at), "measured",
			  s->to > 0 ? record_interval(s->from, s->to) : json_null(), "elapsed",
			  record_number(s->elapsed), "region", region_json(s)));
	*status = v.status;
	return line;
}
