/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "base/statistics.h"

/* The probability with which a 95 % interval may miss. */
#define MISSES 0.05

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void statistics_sort(double *x, size_t n)
{
	if (n)
		qsort(x, n, sizeof(*x), by_value);
}

double statistics_quantile(const double *sorted, size_t n, double q)
{
	double rank = q * (double)(n - 1), below = floor(rank);
	size_t i = (size_t)below;

	return i + 1 < n ? sorted[i] + (rank - below) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}

double statistics_quantile_known(const double *x, const unsigned char *left_out, size_t n, double q)
{
	double *sorted = calloc(n + 1, sizeof(*sorted)), value = NAN;
	size_t known = 0;

	for (size_t i = 0; sorted && i < n; i++)
		if (isfinite(x[i]) && !(left_out && left_out[i]))
			sorted[known++] = x[i];
	if (known) {
		statistics_sort(sorted, known);
		value = statistics_quantile(sorted, known, q);
	}
	free(sorted);
	return value;
}

/*
 * The greatest k for which the interval from the k-th lowest to the k-th highest of n values misses
 * the median with a probability of at most *left, less which *left is then. 0: there is none.
 */
static size_t rank_of_bound(size_t n, double *left)
{
	/* P(X < k) of a binomial(n, 1/2), summed in logarithms: n may be large. */
	double tail = 0, term = -(double)n * M_LN2;
	size_t k = 0;

	while (2 * (tail + exp(term)) <= *left) {
		tail += exp(term);
		term += log((double)(n - k) / (double)(k + 1));
		k++;
	}
	*left -= 2 * tail;
	return k;
}

/* The interval that misses with a probability of at most `misses`; false: there is none. */
static bool interval(const double *sorted, size_t n, double misses, double *low, double *high)
{
	const size_t k = rank_of_bound(n, &misses);

	if (!k)
		return false;
	*low = sorted[k - 1];
	*high = sorted[n - k];
	return true;
}

bool statistics_median_interval(const double *sorted, size_t n, double *low, double *high)
{
	return interval(sorted, n, MISSES, low, high);
}

bool statistics_is_look(size_t n)
{
	while (n > LEAST_VALUES && n % 2 == 0)
		n /= 2;
	return n == LEAST_VALUES;
}

/*
 * The same for the n values that there were when measuring ended, which may have ended at each look
 * before, because the interval was narrow. What those could miss is taken from this one.
 */
static bool interval_after_looks(const double *sorted, size_t n, double *low, double *high)
{
	double left = MISSES;

	for (size_t look = LEAST_VALUES; look < n; look *= 2)
		rank_of_bound(look, &left);
	return interval(sorted, n, left, low, high);
}

/*
 * Writes the groups' medians, sorted; returns how many groups have a value. The values of a group
 * may be in any order and need not be adjacent.
 */
static size_t group_medians(const double *x, const unsigned *group, size_t n, double *scratch,
			    double *medians)
{
	unsigned last = 0;
	size_t groups = 0;

	for (size_t i = 0; i < n; i++)
		last = group[i] > last ? group[i] : last;
	for (unsigned g = 0; n && g <= last; g++) {
		size_t in = 0;

		for (size_t i = 0; i < n; i++)
			if (group[i] == g && isfinite(x[i]))
				scratch[in++] = x[i];
		statistics_sort(scratch, in);
		if (in)
			medians[groups++] = statistics_quantile(scratch, in, 0.5);
	}
	statistics_sort(medians, groups);
	return groups;
}

struct estimate estimate_grouped(const double *x, const unsigned *group, size_t n)
{
	struct estimate e = ESTIMATE_UNKNOWN;
	double *scratch = calloc(n + 1, sizeof(*scratch)),
	       *medians = calloc(n + 1, sizeof(*medians));

	if (scratch && medians)
		e.groups = (unsigned)group_medians(x, group, n, scratch, medians);
	if (e.groups) {
		e.value = statistics_quantile(medians, e.groups, 0.5);
		e.least = medians[0];
		e.most = medians[e.groups - 1];
		interval_after_looks(medians, e.groups, &e.low, &e.high);
	}
	free(scratch);
	free(medians);
	return e;
}

double statistics_mean(const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return n ? sum / (double)n : NAN;
}

double statistics_deviation(const double *x, size_t n)
{
	double centre = statistics_mean(x, n), sum = 0;

	if (n < 2)
		return 0;
	for (size_t i = 0; i < n; i++)
		sum += (x[i] - centre) * (x[i] - centre);
	return sqrt(sum / (double)(n - 1));
}
