/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "harness/sample/reductions.h"
#include "harness/sample/reports.h"
#include "harness/sample/series.h"

int series_open(struct series *s, struct planned *p, struct counting *counting)
{
	const struct trial *t = &p->trial;

	*s = (struct series){ .planned = p, .skew = INFINITY };
	if (t->benchmark->protocol.scored == IN_PAIRS && t->threads > 1) {
		s->task.meetings = p->needs.meetings;
		s->pairs = pairs_open(t);
	}
	s->reports = reports_open(t);
	s->throughput = throughput_open(t);
	if (!neighbours_open(&s->evidence.neighbours, p) && tally_open(&s->tally, counting, t) &&
	    samples_open(&s->samples, t->benchmark) && s->reports && s->throughput &&
	    !s->task.meetings == !s->pairs)
		return 0;
	series_close(s);
	return -1;
}

void series_close(struct series *s)
{
	const struct benchmark *b = s->planned->trial.benchmark;

	samples_close(&s->samples, b);
	throughput_close(s->throughput);
	reports_close(s->reports, b);
	pairs_close(s->pairs);
	tally_close(&s->tally);
	evidence_close(&s->evidence);
}

bool series_room(struct series *s, size_t samples)
{
	return samples_room(&s->samples, s->planned->trial.benchmark, samples) &&
	       throughput_room(s->throughput, s->samples.room) &&
	       tally_room(&s->tally, s->samples.batches + 1);
}

void series_gather(struct series *s)
{
	const struct ranks *ranks = s->planned->trial.ranks;

	if (!ranks)
		return;
	evidence_gather(&s->evidence, ranks);
	tally_gather(&s->tally);
	if (s->reports->rows)
		rows_gather(s->reports->rows, ranks);
}

bool series_converged(const struct series *s)
{
	return s->evidence.failure || estimates_converged(&s->samples, s->task.within);
}
