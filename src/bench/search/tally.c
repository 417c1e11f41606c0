/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "bench/search/tally.h"

struct weighted {
	double time, weight;
};

static int compare(const void *a, const void *b)
{
	const struct weighted *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

double tally_quantile(const struct tally *const *tally, const double *s_per_tick, unsigned tallies, double share)
{
	struct weighted *all = calloc((size_t)tallies * KEPT + 1, sizeof(*all));
	double weight = 0, passed = 0, found = NAN;
	size_t n = 0;

	for (unsigned i = 0; all && i < tallies; i++)
		for (unsigned j = 0; j < tally[i]->kept; j++) {
			all[n] = (struct weighted){ tally[i]->time[j] * s_per_tick[i], (double)tally[i]->packets / tally[i]->kept };
			weight += all[n++].weight;
		}
	if (n)
		qsort(all, n, sizeof(*all), compare);
	for (size_t i = 0; i < n && passed < share * weight; i++) {
		passed += all[i].weight;
		found = all[i].time;
	}
	free(all);
	return found;
}
