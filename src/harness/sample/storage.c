/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "harness/sample/metrics.h"
#include "harness/sample/reports.h"
#include "harness/sample/storage.h"
#include "harness/sample/throughput.h"

int series_open(struct series *s, struct planned *p, struct counting *counting)
{
	const struct trial *t = &p->trial;

	*s = (struct series){ .planned = p, .skew = INFINITY };
	s->value = calloc(t->benchmark->n_metrics + 1, sizeof(*s->value));
	if (t->benchmark->protocol.scored == IN_PAIRS && t->threads > 1) {
		s->meetings = p->needs.meetings;
		s->pairs = pairs_open(t);
	}
	s->reports = reports_open(t);
	s->throughput = throughput_open(t);
	if (!beside_open(&s->beside, p) && tally_open(&s->tally, counting, t) && s->value &&
	    s->reports && s->throughput && !s->meetings == !s->pairs)
		return 0;
	series_close(s);
	return -1;
}

void series_close(struct series *s)
{
	for (unsigned i = 0; s->value && i < s->planned->trial.benchmark->n_metrics; i++)
		free(s->value[i]);
	free(s->value);
	throughput_close(s->throughput);
	reports_close(s->reports, s->planned->trial.benchmark);
	pairs_close(s->pairs);
	tally_close(&s->tally);
	beside_close(&s->beside);
	free(s->time);
	free(s->skews);
	free(s->noisy);
	free(s->batch);
	free(s->failure);
	free(s->impossible);
	free(s->wrong);
	free(s->moved);
	placements_free(&s->placements);
}

/* Room for n more samples. */
static bool grow(struct series *s, size_t n)
{
	const struct benchmark *b = s->planned->trial.benchmark;
	size_t room = s->room ? s->room : 256;
	double *time, *skews;
	unsigned char *noisy;

	if (s->samples + n <= s->room)
		return true;
	while (room < s->samples + n)
		room *= 2;
	if ((time = realloc(s->time, room * sizeof(*time))))
		s->time = time;
	if ((skews = realloc(s->skews, room * sizeof(*skews))))
		s->skews = skews;
	if ((noisy = realloc(s->noisy, room)))
		s->noisy = noisy;
	if (!time || !skews || !noisy)
		return false;
	for (unsigned i = 0; i < b->n_metrics; i++) {
		double *value;

		if (!metric_is_reported(&b->metrics[i]))
			continue;
		value = realloc(s->value[i], room * sizeof(*value));
		if (!value)
			return false;
		s->value[i] = value;
	}
	if (!throughput_room(s->throughput, room))
		return false;
	s->room = room;
	return true;
}

static bool room_for_batch(struct series *s)
{
	if (!tally_room(&s->tally, s->batches + 1))
		return false;
	if (s->batches == s->batch_room) {
		unsigned room = s->batch_room ? s->batch_room * 2 : 64;
		struct batch *grown = realloc(s->batch, room * sizeof(*grown));

		if (!grown)
			return false;
		s->batch = grown;
		s->batch_room = room;
	}
	return true;
}

bool series_room(struct series *s, size_t samples)
{
	return grow(s, samples) && room_for_batch(s);
}
