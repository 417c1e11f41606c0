/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "harness/judge/judge.h"
#include "harness/judge/summary_noise.h"
#include "harness/judge/summary_placement.h"
#include "harness/judge/summary_samples.h"

/* %: smaller changes would be told as "+0.0 %". */
#define LEAST_CHANGE 0.05

/* Reasons and notes that do not depend on the samples' times. */
static void judge_course(const struct series *s, struct verdict *v)
{
	const char *impossible = s->impossible ? s->impossible : s->planned->refusal;
	const json_t *note;
	size_t i;

	json_array_foreach(s->planned->notes, i, note)
		verdict_add(v, STATUS_OK, "%s", json_string_value(note));
	if (impossible)
		verdict_add(v, STATUS_IMPOSSIBLE, "%s", impossible);
	if (s->failure)
		verdict_add(v, STATUS_FAILED, "%s", s->failure);
	if (s->wrong)
		verdict_add(v, STATUS_WRONG, "%s", s->wrong);
	placement_judge(s, v);
	if (s->stopped == STOPPED_SIGNAL)
		verdict_add(v, STATUS_INTERRUPTED,
			    s->samples ? "the run was interrupted before this trial was complete"
				       : "the run was interrupted before this trial");
}

/* The status of a trial without samples for which no reason was found before. */
static void judge_lack(const struct series *s, struct verdict *v)
{
	if (s->stopped != STOPPED_SIGNAL)
		verdict_add(v, STATUS_INTERRUPTED,
			    s->begun ? "stopped by the time budget before a batch was complete: "
				       "give more with --time-budget"
				     : "the time budget was spent before this trial; with "
				       "--output, --resume goes on with it");
}

/* Half of an interval that is wider than this tells nothing of its other half. */
#define WIDE 0.5

static void judge_width(const struct series *s, struct estimate time, struct verdict *v)
{
	if (s->planned->repeats)
		verdict_add(v, STATUS_UNCONVERGED,
			    "stopped by the time budget after %zu of %u samples", s->samples,
			    s->planned->repeats);
	else if (estimate_reach(time) > WIDE)
		verdict_add(v, STATUS_UNCONVERGED,
			    "stopped by the time budget at %.2g to %.2g times the value (target "
			    "±%.0f %%)",
			    time.low / time.value, time.high / time.value, 100 * s->within);
	else if (isfinite(time.low))
		verdict_add(v, STATUS_UNCONVERGED,
			    "stopped by the time budget at ±%.1f %% (target ±%.0f %%)",
			    100 * estimate_reach(time), 100 * s->within);
	else
		verdict_add(v, STATUS_UNCONVERGED,
			    "stopped by the time budget after %u of %d allocations that an "
			    "interval needs",
			    time.groups, LEAST_VALUES);
}

/* The median of the last third of the values over that of the first third. */
static double change(const double *x, size_t n)
{
	const size_t third = n / 3;

	return statistics_quantile_known(x + n - third, NULL, third, 0.5) /
	       statistics_quantile_known(x, NULL, third, 0.5);
}

/* A machine that changes makes a value of the time in which it was measured, and of no other. */
static void note_trend(const struct series *s, struct verdict *v)
{
	double *medians = calloc(s->batches + 1, sizeof(*medians));
	const size_t n = medians ? estimates_allocations(s, medians) : 0;
	const double percent = n < LEAST_VALUES ? 0 : 100 * (change(medians, n) - 1);

	if (statistics_has_trend(medians, n) && fabs(percent) >= LEAST_CHANGE)
		verdict_add(v, STATUS_OK,
			    "changed while it was measured: %+.1f %% from the first third of its "
			    "allocations to the last",
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
			    "its workers were never at work together: one was done before another "
			    "had begun");
	else if (!known)
		verdict_add(v, STATUS_FAILED, "its work did nothing: no unit was counted");
	else if (s->stopped == STOPPED_BUDGET)
		judge_width(s, time.kept, v);
	if (known)
		noise_judge(s, time, v);
	note_trend(s, v);
	placement_note_huge(s, v);
	samples_note_doubts(s, v);
}

/* Adds to the reasons of a trial that was begun what held it up. */
static void judge_pace(const struct series *s, struct verdict *v)
{
	char *cause[] = { conditions_quota(s->conditions, s->planned->trial.threads),
			  conditions_cause(s->conditions, CONDITIONS_PACE) };

	for (unsigned i = 0; i < sizeof(cause) / sizeof(*cause); i++) {
		if (cause[i])
			verdict_add(v, v->status, "%s", cause[i]);
		free(cause[i]);
	}
}

void judge(const struct series *s, struct estimates time, struct verdict *v)
{
	judge_course(s, v);
	if (v->status == STATUS_IMPOSSIBLE || v->status == STATUS_FAILED)
		return;
	if (s->samples)
		judge_samples(s, time, v);
	else
		judge_lack(s, v);
	if (v->status != STATUS_OK && s->begun)
		judge_pace(s, v);
}
