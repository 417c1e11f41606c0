/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "bench/kmeans/own.h"
#include "bench/kmeans/spread.h"

/* Sums relative to all points are good for values this much smaller than the largest. */
#define LEAST_SHARE 0x1p-20

static bool is_small(double value, double most)
{
	return value != 0 && fabs(value) < LEAST_SHARE * most;
}

bool own_is_needed(const struct problem *p, const double *low, const double *high, double *width)
{
	spread_find(p, width);
	for (unsigned j = 0; j < p->points.d; j++) {
		const double most = fmax(fabs(low[j]), fabs(high[j]));

		if (high[j] / 2 - low[j] / 2 > width[j] / 2)
			return true;
		for (uint32_t c = 0; c < p->k; c++)
			if (is_small(
				    real_get(p->points.real, p->start, (size_t)c * p->points.d + j),
				    most))
				return true;
	}
	return false;
}

void own_find_most(struct share *s, const struct stage *g)
{
	const unsigned d = g->d;

	memset(s->most, 0, (size_t)g->k * d * sizeof(*s->most));
	for (size_t i = 0; i < s->n; i++) {
		double *most = s->most + (size_t)s->label[i] * d;

		for (unsigned j = 0; j < d; j++)
			most[j] = fmax(most[j], fabs(real_get(g->real, s->x, i * d + j)));
	}
}

/*
 * Half the exponent of the scale, with which `count` values fit 62 bits: no power of two beyond
 * 2^1023 is a double, so values are multiplied twice.
 */
static int half_exponent(double most, int64_t count)
{
	int of_most, of_count;

	frexp(most, &of_most);
	frexp((double)count, &of_count);
	return (62 - of_most - of_count) / 2 - 1;
}

double own_mean(int64_t sum, double most, int64_t count)
{
	const double root = ldexp(1, -half_exponent(most, count));

	return (double)sum / (double)count * root * root;
}

void own_add(struct share *s, const struct stage *g, const double *most, const int64_t *count)
{
	const unsigned d = g->d;
	double *root = s->most;

	for (size_t e = 0; e < (size_t)g->k * d; e++)
		root[e] = ldexp(1, half_exponent(most[e], count[e / d]));
	memset(s->change.sum, 0, (size_t)g->k * d * sizeof(*s->change.sum));
	for (size_t i = 0; i < s->n; i++) {
		const size_t row = (size_t)s->label[i] * d;

		for (unsigned j = 0; j < d; j++)
			s->change.sum[row + j] += llrint(real_get(g->real, s->x, i * d + j) *
							 root[row + j] * root[row + j]);
	}
}
