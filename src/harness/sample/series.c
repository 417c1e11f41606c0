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

/* The allocation of each batch; to be freed. NULL: no memory. */
static unsigned *allocations_of(const struct series *s)
{
	unsigned *group = calloc(s->batches + 1, sizeof(*group));

	for (unsigned i = 0; group && i < s->batches; i++)
		group[i] = s->batch[i].allocation;
	return group;
}

struct estimate series_estimate(const struct series *s, const double *of)
{
	unsigned *group = allocations_of(s);
	const struct estimate e =
		group ? estimate_grouped(of, group, s->batches) : ESTIMATE_UNKNOWN;

	free(group);
	return e;
}

size_t series_medians(const struct series *s, const double *of, double *medians)
{
	unsigned *group = allocations_of(s);
	const size_t n = group ? statistics_group_medians(of, group, s->batches, medians) : 0;

	free(group);
	return n;
}
