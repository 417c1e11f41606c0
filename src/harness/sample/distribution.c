/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/sample/distribution.h"

#include <stdio.h>
#include <stdlib.h>

#include "harness/record/json.h"
#include "kit/agree.h"

struct distribution {
	struct histogram sample, all;
};

struct distribution *distribution_open(void)
{
	return apart_alloc(sizeof(struct distribution));
}

void distribution_close(struct distribution *d)
{
	free(d);
}

void distribution_add(struct distribution *d, const struct histogram *h, double unit)
{
	histogram_merge(&d->sample, h, unit);
}

/* Only octaves that hold something on some rank are sent. */
static void sum_over(const struct ranks *ranks, struct histogram *h)
{
	int64_t used[HISTOGRAM_OCTAVES];

	if (!ranks)
		return;
	for (unsigned octave = 0; octave < HISTOGRAM_OCTAVES; octave++)
		used[octave] = (int64_t)(h->octaves[octave / 64] >> octave % 64 & 1);
	agree_total(ranks, used, HISTOGRAM_OCTAVES);
	for (unsigned octave = 0; octave < HISTOGRAM_OCTAVES; octave++) {
		if (!used[octave])
			continue;
		h->octaves[octave / 64] |= UINT64_C(1) << octave % 64;
		agree_total(ranks, (int64_t *)&h->count[(size_t)octave * HISTOGRAM_STEPS],
			    HISTOGRAM_STEPS);
	}
}

double distribution_end(struct distribution *d, const struct ranks *ranks)
{
	double median;

	sum_over(ranks, &d->sample);
	median = histogram_quantile(&d->sample, 0.5);
	histogram_merge(&d->all, &d->sample, 1);
	histogram_clear(&d->sample);
	return median;
}

static json_t *quantiles_of(const struct histogram *h)
{
	static const double shares[] = { 0.5, 0.9, 0.99, 0.999, 1 };
	json_t *object = json_object();
	char key[16];

	for (size_t i = 0; i < sizeof(shares) / sizeof(*shares); i++) {
		snprintf(key, sizeof(key), "%g", shares[i]);
		json_object_set_new(object, key, record_number(histogram_quantile(h, shares[i])));
	}
	return object;
}

/* Runs of buckets that are not empty: the number of the first, then the count of each. */
static json_t *buckets_of(const struct histogram *h)
{
	json_t *runs = json_array(), *run = NULL;

	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		if (h->count[i] && (!i || !h->count[i - 1])) {
			run = json_pack("[i]", (int)i);
			json_array_append_new(runs, run);
		}
		if (h->count[i])
			json_array_append_new(run, json_integer((json_int_t)h->count[i]));
	}
	return runs;
}

json_t *distribution_json(const struct distribution *d)
{
	const struct histogram *h = &d->all;

	if (!histogram_total(h))
		return NULL;
	return json_pack("{s:I, s:o, s:o}", "n", (json_int_t)histogram_total(h), "quantiles",
			 quantiles_of(h), "buckets", buckets_of(h));
}
