/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/run/samples_told.h"

#include "harness/judge/summary.h"

/* s from its start until a batch is written at the latest, unless another batch takes longer. */
#define LATE 1.0

void samples_told_rest(struct run *r, struct series *s)
{
	if (s->samples.recorded < s->samples.complete)
		record_line(r->record, "samples",
			    samples_line(s, s->samples.recorded,
					 s->samples.complete - s->samples.recorded),
			    false);
	s->samples.recorded = s->samples.complete;
}

void samples_told_add(struct run *r, struct series *s, double at)
{
	const unsigned batch = s->samples.batches - 1;
	struct batch *b = &s->samples.batch[batch];

	b->at = at;
	b->units = s->did;
	if (s->samples.recorded < s->samples.complete &&
	    (at - s->samples.batch[s->samples.recorded].at >= LATE ||
	     !samples_join(s, s->samples.recorded, batch)))
		samples_told_rest(r, s);
	s->samples.recorded =
		s->samples.recorded < s->samples.complete ? s->samples.recorded : batch;
	s->samples.complete = s->samples.batches;
}

void samples_told_late(struct run *r, struct series *series, unsigned n)
{
	const double now = budget_elapsed(&r->budget);

	for (struct series *s = series; s < series + n; s++)
		if (s->samples.recorded < s->samples.complete &&
		    now - s->samples.batch[s->samples.recorded].at >= LATE)
			samples_told_rest(r, s);
}
