/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "base/statistics.h"

#ifdef __FAST_MATH__ /* configure refuses it; make may be given other flags */
#error "statistics need the arithmetic of IEEE 754: leave out -Ofast and -ffast-math"
#endif

/* The probability with which a 95 % interval may miss. */
#define MISSES 0.05
/*
 * A narrow interval is widened to LEAST_SHARE of the typical half width, but to at most
 * MOST_WIDENED times its own: chance does not explain an interval that is still narrower.
 */
#define LEAST_SHARE  0.8
#define MOST_WIDENED 4
/* Fewer trials than these have no typical half width. */
#define LEAST_TYPICAL 4

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

double statistics_quantile_without(const double *x, const unsigned char *flags, unsigned without,
				   size_t n, double q)
{
	double *sorted = calloc(n + 1, sizeof(*sorted)), value = NAN;
	size_t known = 0;

	for (size_t i = 0; sorted && i < n; i++)
		if (isfinite(x[i]) && !(flags && flags[i] & without))
			sorted[known++] = x[i];
	if (known) {
		statistics_sort(sorted, known);
		value = statistics_quantile(sorted, known, q);
	}
	free(sorted);
	return value;
}

double statistics_quantile_known(const double *x, size_t n, double q)
{
	return statistics_quantile_without(x, NULL, 0, n, q);
}

/*
 * The greatest k for which the interval from the k-th lowest to the k-th highest of n values misses
 * the median with a probability of at most *left. Subtracts that probability from *left. 0: no such
 * k.
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
 * The interval for the n values at the end of measuring. Measuring could have ended at each earlier
 * look because the interval was narrow, so the probability that those looks miss is subtracted.
 */
static bool interval_after_looks(const double *sorted, size_t n, double *low, double *high)
{
	double left = MISSES;

	for (size_t look = LEAST_VALUES; look < n; look *= 2)
		rank_of_bound(look, &left);
	return interval(sorted, n, left, low, high);
}

struct grouped {
	unsigned group;
	double value;
};

static int by_group(const void *a, const void *b)
{
	const struct grouped *x = a, *y = b;

	return x->group != y->group ? (x->group > y->group) - (x->group < y->group)
				    : by_value(&x->value, &y->value);
}

size_t statistics_group_medians(const double *x, const unsigned *group, size_t n, double *medians,
				unsigned *groups)
{
	struct grouped *known = calloc(n + 1, sizeof(*known));
	double *sorted = calloc(n + 1, sizeof(*sorted));
	size_t all = 0, in = 0, found = 0;

	for (size_t i = 0; known && sorted && i < n; i++)
		if (isfinite(x[i]))
			known[all++] = (struct grouped){ group[i], x[i] };
	if (all)
		qsort(known, all, sizeof(*known), by_group);
	for (size_t i = 0; i < all; i++) {
		sorted[in++] = known[i].value;
		if (i + 1 < all && known[i + 1].group == known[i].group)
			continue;
		if (groups)
			groups[found] = known[i].group;
		medians[found++] = statistics_quantile(sorted, in, 0.5);
		in = 0;
	}
	free(known);
	free(sorted);
	return found;
}

struct estimate estimate_grouped(const double *x, const unsigned *group, size_t n)
{
	struct estimate e = ESTIMATE_UNKNOWN;
	double *medians = calloc(n + 1, sizeof(*medians));

	if (medians)
		e.groups = (unsigned)statistics_group_medians(x, group, n, medians, NULL);
	if (e.groups) {
		statistics_sort(medians, e.groups);
		e.value = statistics_quantile(medians, e.groups, 0.5);
		e.least = medians[0];
		e.most = medians[e.groups - 1];
		interval_after_looks(medians, e.groups, &e.low, &e.high);
	}
	free(medians);
	return e;
}

/* Half the interval's width, relative to the value. */
static double half_width(struct estimate e)
{
	return (e.high - e.low) / 2 / e.value;
}

double estimate_scatter(struct estimate e)
{
	return half_width(e) * sqrt(e.groups);
}

double estimate_typical(const double *scatter, size_t n)
{
	size_t known = 0;

	for (size_t i = 0; i < n; i++)
		known += isfinite(scatter[i]);
	return known < LEAST_TYPICAL ? 0 : statistics_quantile_known(scatter, n, 0.5);
}

struct estimate estimate_widened(struct estimate e, double typical)
{
	const double own = half_width(e), least = LEAST_SHARE * typical / sqrt(e.groups),
		     reach = fmax(own, fmin(least, MOST_WIDENED * own));

	if (!(e.low > 0))
		return e;
	e.low = fmin(e.low, e.value / (1 + reach));
	e.high = fmax(e.high, e.value * (1 + reach));
	return e;
}

double estimate_reach(struct estimate e)
{
	return fmax(e.value - e.low, e.high - e.value) / fabs(e.value);
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

/* The rank of x[i] among all, from 1 on; equal values share the mean of their ranks. */
static double rank_in(const double *x, size_t n, size_t i)
{
	double rank = 0.5;

	for (size_t j = 0; j < n; j++)
		rank += (x[j] < x[i]) + 0.5 * (x[j] == x[i]);
	return rank;
}

double statistics_rank_correlation(const double *x, size_t n)
{
	const double middle = ((double)n + 1) / 2;
	double both = 0, order = 0, ranks = 0;

	for (size_t i = 0; i < n; i++) {
		const double a = (double)i + 1 - middle, b = rank_in(x, n, i) - middle;

		both += a * b;
		order += a * a;
		ranks += b * b;
	}
	return ranks > 0 ? both / sqrt(order * ranks) : 0;
}

/*
 * The least rank correlation that chance exceeds in at most 2 % of cases, either way: exact for few
 * values (Zar 1972), then from Student's t (Abramowitz and Stegun 1964, 26.7.5).
 */
static double critical_correlation(size_t n)
{
	static const double exact[] = { [6] = 0.943,  [7] = 0.893,  [8] = 0.833, [9] = 0.783,
					[10] = 0.745, [11] = 0.709, [12] = 0.678 };
	const double z = 2.326348, free = (double)n - 2;
	double t;

	if (n < sizeof(exact) / sizeof(*exact))
		return exact[n] > 0 ? exact[n] : INFINITY;
	t = z + (pow(z, 3) + z) / (4 * free) +
	    (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / (96 * free * free);
	return t / sqrt(free + t * t);
}

bool statistics_has_trend(const double *x, size_t n)
{
	const double rounding = 5e-4; /* of the tabulated values */

	return fabs(statistics_rank_correlation(x, n)) > critical_correlation(n) - rounding;
}
