/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "harness/sample/series.h"

void series_gather(struct series *s)
{
	const struct ranks *ranks = s->planned->trial.ranks;

	if (!ranks)
		return;
	noise_sum(ranks, &s->noise);
	tally_gather(&s->tally);
	placements_sum(ranks, &s->placements);
}

struct estimate series_estimate(const struct series *s, int allocation, const double *of)
{
	double *x = calloc(s->batches + 1, sizeof(*x));
	unsigned *group = calloc(s->batches + 1, sizeof(*group));
	struct estimate e = { NAN, NAN, NAN };
	size_t n = 0;

	for (unsigned i = 0; x && group && i < s->batches; i++) {
		if (allocation >= 0 && s->batch[i].allocation != (unsigned)allocation)
			continue;
		x[n] = of ? of[i] : s->batch[i].estimate;
		group[n++] = s->batch[i].allocation;
	}
	if (x && group)
		e = estimate_grouped(x, group, n);
	free(x);
	free(group);
	return e;
}

bool series_converged(const struct series *s, int allocation)
{
	struct estimate e = series_estimate(s, allocation, NULL);

	if (s->failure) /* there is nothing to wait for */
		return true;
	/* false if one of them is NAN */
	return (e.high - e.low) / 2 <= SERIES_CONVERGED_WITHIN * e.value;
}
