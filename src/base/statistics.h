/* SPDX-License-Identifier: Apache-2.0 */
/* Order statistics: nothing here assumes a distribution. */
#ifndef LOCUS_STATISTICS_H
#define LOCUS_STATISTICS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* Least number of independent values for a 95 % interval of the median: 1 - 2 (1/2)^6 = 0.969. */
#define LEAST_VALUES 6

void statistics_sort(double *x, size_t n);

/*
 * The quantile of sorted values, n > 0, by linear interpolation between the two nearest ranks (type
 * 7 of Hyndman and Fan 1996).
 */
double statistics_quantile(const double *sorted, size_t n, double q);

/*
 * The same for unsorted values. Ignores values that are not finite, and those with left_out[i] set
 * (NULL: none). NAN if no value remains, or out of memory.
 */
double statistics_quantile_known(const double *x, const unsigned char *left_out, size_t n,
				 double q);

/*
 * The confidence interval of the population's median, of at least 95 % (binomial; Hahn and Meeker
 * 1991, section 5.2), from sorted, independent values. False when there are fewer than
 * LEAST_VALUES.
 */
bool statistics_median_interval(const double *sorted, size_t n, double *low, double *high);

/*
 * Whether n is LEAST_VALUES, twice as many, four times as many, ...: numbers of allocations at
 * which a trial may end because its interval is narrow.
 */
bool statistics_is_look(size_t n);

/* A value, its confidence interval, and the range of its groups' values; NAN where unknown. */
struct estimate {
	double value, low, high, least, most;
	unsigned groups; /* that have a value */
};

#define ESTIMATE_UNKNOWN                                                         \
	(struct estimate)                                                        \
	{                                                                        \
		.value = NAN, .low = NAN, .high = NAN, .least = NAN, .most = NAN \
	}

/*
 * Estimates the median of values in groups (batches in allocations of memory): the median over the
 * groups of their medians. Groups are independent; values within a group are not, so they do not
 * count, however many they are. With fewer than LEAST_VALUES groups there is no interval, only
 * their range.
 *
 * The interval is of at least 95 % although measuring may end at any look (statistics_is_look)
 * because it is narrow: what the looks may miss is at most 5 % in all (Bonferroni). Six groups have
 * the range as their interval (97 %), 12 the 2nd lowest to the 2nd highest, 24 the 6th, 48 the
 * 15th. Values that are not finite are ignored.
 */
struct estimate estimate_grouped(const double *x, const unsigned *group, size_t n);

double statistics_mean(const double *x, size_t n);
double statistics_deviation(const double *x, size_t n); /* of the sample (n - 1); 0 for n < 2 */

#endif
