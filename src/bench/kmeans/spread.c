/* SPDX-License-Identifier: Apache-2.0 */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "bench/kmeans/spread.h"

enum {
	SAMPLE = 64, /* start centres */
	TIMES = 64,  /* 8 for evenly spread points, 30 for a Gaussian's tails */
};

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* A quarter of the start centres is nearer to their median than this. */
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

void spread_find(const struct problem *p, double *width)
{
	double most = 0;

	for (unsigned j = 0; j < p->points.d; j++) {
		width[j] = TIMES * quarter(p, j);
		most = fmax(most, width[j]);
	}
	for (unsigned j = 0; j < p->points.d; j++)
		width[j] = width[j] > 0 ? width[j] : most;
}
