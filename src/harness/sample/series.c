/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "harness/sample/series.h"
#include "kit/agree.h"

void series_leave_out_cut(struct series *s)
{
	if (s->batches > s->complete)
		s->samples = s->batch[s->complete].first;
	s->batches = s->complete;
}

void series_gather(struct series *s)
{
	const struct ranks *ranks = s->planned->trial.ranks;

	if (!ranks)
		return;
	noise_sum(ranks, &s->noise);
	tally_gather(&s->tally);
	placements_sum(ranks, &s->placements);
	agree_words(ranks, &s->moved);
}

bool series_has_clean(const struct series *s, unsigned allocation)
{
	size_t clean = 0, all = 0;

	for (unsigned i = 0; i < s->batches; i++) {
		const struct batch *b = &s->batch[i];

		for (size_t j = b->first; b->allocation == allocation && j < b->first + b->samples;
		     j++) {
			all += isfinite(s->time[j]);
			clean += isfinite(s->time[j]) && !s->noisy[j];
		}
	}
	return !all || (clean && (double)clean >= SERIES_LEAST_CLEAN * (double)all);
}

bool series_sets_noise_aside(const struct series *s)
{
	for (unsigned a = 0; a < s->allocations; a++)
		if (!series_has_clean(s, a))
			return false;
	return true;
}

struct estimate series_estimate(const struct series *s, const double *of)
{
	unsigned *group = calloc(s->batches + 1, sizeof(*group));
	struct estimate e = ESTIMATE_UNKNOWN;

	for (unsigned i = 0; group && i < s->batches; i++)
		group[i] = s->batch[i].allocation;
	if (group)
		e = estimate_grouped(of, group, s->batches);
	free(group);
	return e;
}
