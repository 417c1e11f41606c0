/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/run/samples_told.h"

#include "harness/judge/summary.h"

/* s from its start until a batch is written at the latest, unless another batch takes longer. */
#define LATE 1.0

void samples_told_rest(struct run *r, struct series *s)
{
	if (s->told < s->complete)
		record_line(r->record, "samples", samples_line(s, s->told, s->complete - s->told),
			    false);
	s->told = s->complete;
}

void samples_told_add(struct run *r, struct series *s, double at)
{
	const unsigned batch = s->batches - 1;
	struct batch *b = &s->batch[batch];

	b->at = at;
	b->units = s->did;
	if (s->told < s->complete &&
	    (at - s->batch[s->told].at >= LATE || !samples_join(s, s->told, batch)))
		samples_told_rest(r, s);
	s->told = s->told < s->complete ? s->told : batch;
	s->complete = s->batches;
}

void samples_told_late(struct run *r, struct series *series, unsigned n)
{
	const double now = budget_elapsed(&r->budget);

	for (struct series *s = series; s < series + n; s++)
		if (s->told < s->complete && now - s->batch[s->told].at >= LATE)
			samples_told_rest(r, s);
}
