/* SPDX-License-Identifier: Apache-2.0 */
/* Order statistics: nothing here assumes a distribution. */
#ifndef LOCUS_STATISTICS_H
#define LOCUS_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

/* A confidence interval of 95 % needs this many independent values: 1 - 2 (1/2)^6 = 0.969. */
#define LEAST_VALUES 6

void statistics_sort(double *x, size_t n);

/*
 * Of sorted values, n > 0: linear interpolation between the two nearest ranks (type 7 of Hyndman
 * and Fan 1996).
 */
double statistics_quantile(const double *sorted, size_t n, double q);

/*
 * The same of values as they come, without those that are not numbers, or left out (NULL: none is);
 * NAN where nothing is left, or no memory.
 */
double statistics_quantile_known(const double *x, const unsigned char *left_out, size_t n,
				 double q);

/*
 * An interval that holds the median of the population with at least 95 % (binomial; Hahn and Meeker
 * 1991, section 5.2), from sorted, independent values. False when there are fewer than
 * LEAST_VALUES.
 */
bool statistics_median_interval(const double *sorted, size_t n, double *low, double *high);

/* A number with its interval; NAN where there is none. */
struct estimate {
	double value, low, high;
};

/*
 * Of values that come in groups (batches in allocations of memory): the median over the groups of
 * their medians, so that no group counts for more because it was measured for longer. From
 * LEAST_VALUES groups on, the interval is that of the groups' medians: values within a group are
 * alike. With fewer, it is that of all values, widened to hold the median of every group. Values
 * that are not numbers are left out.
 */
struct estimate estimate_grouped(const double *x, const unsigned *group, size_t n);

double statistics_mean(const double *x, size_t n);
double statistics_deviation(const double *x, size_t n); /* of the sample (n - 1); 0 for n < 2 */

/*
 * How many of sorted values form the lower of two modes; 0: they are not bimodal. They are split
 * where the variance within is least (Otsu 1979); each side has a tenth of the values, the centres
 * are 5 % apart and Ashman's D (1994) is above 4 (an even spread has 3.5, a normal one 2.7). 0 for
 * n < 20.
 */
size_t statistics_modes(const double *sorted, size_t n);

#endif
