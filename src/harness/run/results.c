/* SPDX-License-Identifier: Apache-2.0 */
/* A trial's results: the lines of its batches, its own line, and its row in the table. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "harness/judge/contention.h"
#include "harness/judge/summary.h"
#include "harness/run/alternation.h"
#include "kit/agree.h"
#include "machine/watchdog.h"

/* --- batches: several of a trial share a line, but none waits for long --- */

/* A batch is written at most this long (s) after its start, unless another one takes longer. */
#define LATE 1.0

void results_write_batches(struct run *r, struct series *s)
{
	if (s->samples.recorded < s->samples.complete)
		record_line(r->record, "samples",
			    samples_line(s, s->samples.recorded,
					 s->samples.complete - s->samples.recorded),
			    false);
	s->samples.recorded = s->samples.complete;
}

void results_add_batch(struct run *r, struct series *s, double at)
{
	const unsigned batch = s->samples.batches - 1;
	struct batch *b = &s->samples.batch[batch];

	b->at = at;
	b->units = s->did;
	if (s->samples.recorded < s->samples.complete &&
	    (at - s->samples.batch[s->samples.recorded].at >= LATE ||
	     !samples_join(s, s->samples.recorded, batch)))
		results_write_batches(r, s);
	s->samples.recorded =
		s->samples.recorded < s->samples.complete ? s->samples.recorded : batch;
	s->samples.complete = s->samples.batches;
}

void results_write_late(struct run *r, struct series *series, unsigned n)
{
	const double now = budget_elapsed(&r->budget);

	for (struct series *s = series; s < series + n; s++)
		if (s->samples.recorded < s->samples.complete &&
		    now - s->samples.batch[s->samples.recorded].at >= LATE)
			results_write_batches(r, s);
}

/* --- trials --- */

void results_begin(struct run *r)
{
	table_end(&r->table);
	if (rank_is_first(r->ranks))
		table_begin(&r->table, &r->plans.plan[r->plan_at]);
	r->trial_at = 0;
}

/* Whether a trial was left out: it has nothing to show, and print_left() counts it. */
static bool is_left(const struct series *s, enum status status)
{
	return status == STATUS_INTERRUPTED && !s->samples.n &&
	       (s->stopped == STOPPED_SIGNAL || !s->ready);
}

void results_write_next(struct alternation *a, enum stopped stopped, bool sync)
{
	struct run *r = a->run;
	struct series *s;
	enum status status;
	json_t *line;

	if (!a->recorded) { /* before the first line, which may compare its trial with any other */
		for (unsigned i = 0; i < a->n; i++)
			samples_leave_out_cut(&a->series[i].samples);
		alternation_find_typical(a);
	}
	s = &a->series[a->recorded++];
	if (s->planned->again && !s->samples.n) { /* the result of an earlier run stays */
		r->skipped++;
		return;
	}
	results_write_batches(r, s);
	s->stopped = alternation_reason(a, s, stopped);
	line = summary(s, a->series, a->n, a->at, &status);
	record_line(r->record, "trial", json_incref(line), sync && s->samples.n);
	/*
	 * the row follows the line: if the run is killed, the record has everything that was shown
	 */
	r->left += is_left(s, status);
	if (line && rank_is_first(r->ranks) && !(is_left(s, status) && table_is_read(&r->table)))
		table_row(&r->table, s->planned, line);
	json_decref(line);
	r->count[status]++;
	r->finished++;
}

/* "interrupted by SIGINT: 12 trials not measured, 9 incomplete; ..." */
static void print_left(const struct run *r, unsigned unmeasured, unsigned begun, FILE *f)
{
	const char *output = r->options->output;

	fprintf(f, "%s%s%s: ", r->table.any ? "\n" : "",
		r->signal	? "interrupted by "
		: r->unwritable ? "the record can't be written"
				: "time budget spent",
		r->signal ? watchdog_signal_name(r->signal) : "");
	if (unmeasured)
		fprintf(f, "%s not measured", text_count(unmeasured, "trial").of);
	if (unmeasured && begun)
		fprintf(f, ", %u incomplete", begun);
	else if (begun)
		fprintf(f, "%s incomplete", text_count(begun, "trial").of);
	fprintf(f, "; %s\n",
		output && strcmp(output, RECORD_STDOUT)
			? "rerun with --resume to continue"
			: "with --output FILE, --resume could continue");
}

void results_end(struct run *r)
{
	const unsigned unmeasured = r->left + r->plans.trials - r->skipped - r->finished,
		       begun = r->count[STATUS_INTERRUPTED] - r->left;
	FILE *f = r->table.printer.to;

	if (!table_is_read(&r->table))
		return;
	if (r->skipped)
		fprintf(f, "%u trials were already complete in the file\n", r->skipped);
	if (unmeasured || begun)
		print_left(r, unmeasured, begun, f);
}

void results_write_all(struct alternation *a, enum stopped stopped)
{
	progress_clear(&a->run->progress);
	while (a->recorded < a->n) {
		series_gather(&a->series[a->recorded]);
		contention_learn(&a->series[a->recorded]);
		/* The samples are in the record already: one sync for a group is enough. */
		results_write_next(a, stopped, a->recorded + 1 == a->n);
		/* There may be very many lines: between two, the watchdog may take over. */
		watchdog_away("writing the line of");
		watchdog_back();
	}
}
