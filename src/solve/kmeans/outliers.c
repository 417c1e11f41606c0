/* SPDX-License-Identifier: Apache-2.0 */
/* The width of the points' spread, and sums for points of which some lie very far out. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solve/kmeans/workspace.h"

enum {
	SAMPLE = 64, /* start centres */
	TIMES = 64,  /* 8 for evenly spread points, 30 for a Gaussian's tails */
};

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The distance from their median within which a quarter of the start centres lie. */
static double quarter(const struct problem *p, unsigned j)
{
	const unsigned n = p->k < SAMPLE ? p->k : SAMPLE;
	double value[SAMPLE], median;

	for (unsigned i = 0; i < n; i++)
		value[i] = real_get(p->points.real, p->start,
				    (size_t)((uint64_t)i * p->k / n) * p->points.d + j);
	qsort(value, n, sizeof(*value), by_value);
	median = value[n / 2];
	for (unsigned i = 0; i < n; i++)
		value[i] = fabs(value[i] / 2 - median / 2);
	qsort(value, n, sizeof(*value), by_value);
	return fmin(value[n / 4], DBL_MAX / TIMES / 2) * 2;
}

void kmeans_spread(const struct problem *p, double *width)
{
	double most = 0;

	for (unsigned j = 0; j < p->points.d; j++) {
		width[j] = TIMES * quarter(p, j);
		most = fmax(most, width[j]);
	}
	for (unsigned j = 0; j < p->points.d; j++)
		width[j] = width[j] > 0 ? width[j] : most;
}

/* Sums relative to all points are exact enough for values down to this share of the largest. */
#define LEAST_SHARE 0x1p-20

static bool is_small(double value, double most)
{
	return value != 0 && fabs(value) < LEAST_SHARE * most;
}

bool sums_need_own(const struct problem *p, const double *low, const double *high, double *width)
{
	kmeans_spread(p, width);
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

void sums_find_extent(struct share *s, const struct stage *g)
{
	const size_t d = g->d, negated = g->k * d;

	for (size_t e = 0; e < 2 * negated; e++)
		s->extent[e] = -INFINITY;
	for (size_t i = 0; i < s->n; i++) {
		double *high = s->extent + s->label[i] * d;

		for (size_t j = 0; j < d; j++) {
			const double x = real_get(g->real, s->x, i * d + j);

			high[j] = fmax(high[j], x);
			high[negated + j] = fmax(high[negated + j], -x);
		}
	}
}

/*
 * How values of a cluster become integers in one dimension. They are relative to the middle: where
 * all are equal, their mean is the same value, even if it is so large that its last bit is wider
 * than all other columns.
 */
struct own {
	double middle;
	double root; /* of the scale: no power of two beyond 2^1023 is a double */
};

static struct own own_of(double low, double high, int64_t count)
{
	const double middle = low < high ? low / 2 + high / 2 : high;
	int of_most, of_count;

	if (!count)
		return (struct own){ 0, 1 };
	frexp(fmax(high - middle, middle - low), &of_most);
	frexp((double)count, &of_count);
	/* so that `count` values fit 62 bits */
	return (struct own){ middle, ldexp(1, (62 - of_most - of_count) / 2 - 1) };
}

double sums_own_mean(int64_t sum, double low, double high, int64_t count)
{
	const struct own own = own_of(low, high, count);
	const double mean = own.middle + (double)sum / (double)count / own.root / own.root;

	return fmin(fmax(mean, low), high);
}

void sums_add_own(struct share *s, const struct stage *g, const double *extent,
		  const int64_t *count)
{
	const size_t d = g->d, negated = g->k * d;
	double *root = s->extent, *middle = s->extent + negated;

	for (size_t e = 0; e < negated; e++) {
		const struct own own = own_of(-extent[negated + e], extent[e], count[e / d]);

		middle[e] = own.middle;
		root[e] = own.root;
	}
	memset(s->change.sum, 0, negated * sizeof(*s->change.sum));
	for (size_t i = 0; i < s->n; i++) {
		const size_t row = s->label[i] * d;

		for (size_t at = row; at < row + d; at++) {
			const double x = real_get(g->real, s->x, i * d + at - row) - middle[at];

			s->change.sum[at] += llrint(x * root[at] * root[at]);
		}
	}
}
