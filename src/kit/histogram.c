/* SPDX-License-Identifier: Apache-2.0 */
#include "kit/histogram.h"

#include <math.h>
#include <stdbool.h>

static bool is_used(const struct histogram *h, unsigned octave)
{
	return h->octaves[octave / 64] >> octave % 64 & 1;
}

/* The first bucket from `bucket` on that is not empty; HISTOGRAM_BUCKETS: none is. */
static unsigned next_filled(const struct histogram *h, unsigned bucket)
{
	while (bucket < HISTOGRAM_BUCKETS && !h->count[bucket])
		bucket += is_used(h, bucket / HISTOGRAM_STEPS)
				  ? 1
				  : HISTOGRAM_STEPS - bucket % HISTOGRAM_STEPS;
	return bucket;
}

void histogram_clear(struct histogram *h)
{
	for (unsigned octave = 0; octave < HISTOGRAM_OCTAVES; octave++)
		if (is_used(h, octave))
			memset(&h->count[(size_t)octave * HISTOGRAM_STEPS], 0,
			       HISTOGRAM_STEPS * sizeof(*h->count));
	memset(h->octaves, 0, sizeof(h->octaves));
}

double histogram_value(unsigned bucket)
{
	const int octave = (int)(bucket / HISTOGRAM_STEPS) + HISTOGRAM_FIRST;
	const double step = bucket % HISTOGRAM_STEPS + 0.5;

	return bucket ? ldexp(1 + step / HISTOGRAM_STEPS, octave) : 0;
}

void histogram_merge(struct histogram *into, const struct histogram *from, double scale)
{
	for (unsigned i = next_filled(from, 0); i < HISTOGRAM_BUCKETS;
	     i = next_filled(from, i + 1)) {
		const unsigned bucket = histogram_bucket(histogram_value(i) * scale),
			       octave = bucket / HISTOGRAM_STEPS;

		into->octaves[octave / 64] |= UINT64_C(1) << octave % 64;
		into->count[bucket] += from->count[i];
	}
}

uint64_t histogram_total(const struct histogram *h)
{
	uint64_t total = 0;

	for (unsigned i = next_filled(h, 0); i < HISTOGRAM_BUCKETS; i = next_filled(h, i + 1))
		total += h->count[i];
	return total;
}

double histogram_quantile(const struct histogram *h, double share)
{
	const double wanted = share * (double)histogram_total(h);
	uint64_t passed = 0;
	double value = NAN;

	for (unsigned i = next_filled(h, 0); i < HISTOGRAM_BUCKETS; i = next_filled(h, i + 1)) {
		passed += h->count[i];
		value = histogram_value(i);
		if ((double)passed >= wanted)
			break;
	}
	return value;
}
