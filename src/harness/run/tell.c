/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "harness/run/samples_told.h"
#include "harness/run/stop.h"
#include "harness/judge/summary.h"
#include "harness/run/tell.h"
#include "kit/agree.h"
#include "machine/watchdog.h"

void tell_plan(struct run *r)
{
	table_end(&r->table);
	if (rank_is_first(r->ranks))
		table_begin(&r->table, &r->plans.plan[r->plan_at]);
	r->trial_at = 0;
}

/* The disk is waited for once a group: what was measured is in the batches' lines. */
void tell_next(struct alternation *a, enum stopped stopped)
{
	struct run *r = a->run;
	struct series *s = &a->series[a->told++];
	enum status status;
	json_t *line;

	if (s->planned->again && !s->samples) { /* what an earlier run found holds */
		r->skipped++;
		return;
	}
	samples_told_rest(r, s);
	s->stopped = stop_reason(a, s, stopped);
	line = summary(s, a->series, a->n, a->at, &status);
	record_line(r->record, "trial", json_incref(line), a->told == a->n && s->samples);
	/* a row is shown once a kill cannot lose its line any more */
	if (line && rank_is_first(r->ranks))
		table_row(&r->table, s->planned, line);
	json_decref(line);
	r->count[status]++;
	r->finished++;
}

void tell_all(struct alternation *a, enum stopped stopped)
{
	progress_clear(&a->run->progress);
	while (a->told < a->n) {
		series_gather(&a->series[a->told]);
		tell_next(a, stopped);
		/* Of very many lines: the watchdog may take over between two. */
		watchdog_away("writing the line of");
		watchdog_back();
	}
}
