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
 * The quantile of unsorted values. Ignores values that are not finite, and with flags (NULL: none)
 * values of which flags[i] has a bit of `without`. NAN if no value remains, or out of memory.
 */
double statistics_quantile_known(const double *x, size_t n, double q);
double statistics_quantile_without(const double *x, const unsigned char *flags, unsigned without,
				   size_t n, double q);

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
	unsigned groups; /* groups that have a value */
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

/*
 * The medians of the groups that have a value, in the order of the groups, and each one's group
 * (`groups` may be NULL); returns how many these are. The values of a group may be in any order and
 * need not be adjacent. Room for n medians.
 */
size_t statistics_group_medians(const double *x, const unsigned *group, size_t n, double *medians,
				unsigned *groups);

/*
 * A trial that ends when its interval is narrow may have a narrow one by chance; such intervals
 * miss more often than 1 in 20 times. The scatter of other trials of the same kind corrects this:
 *
 * estimate_scatter: half the interval's width relative to the value, times the square root of the
 * number of groups, so that trials with unlike numbers of groups compare. NAN without an interval.
 * estimate_typical: the median of n trials' scatter; 0: fewer than 4 are known.
 * estimate_widened: the interval, widened by factors until each side reaches as far as half its own
 * width and as 0.8 of the typical half width. The latter widens it to 4 times its own half width at
 * most: a trial that is so much calmer is calm in truth. Bounds that are not positive stay.
 */
double estimate_scatter(struct estimate);
double estimate_typical(const double *scatter, size_t n);
struct estimate estimate_widened(struct estimate, double typical);

/* How far the interval reaches: its wider half, relative to the value. NAN without an interval. */
double estimate_reach(struct estimate);

/* Spearman's, of values with their order; 0 where all values are the same. */
double statistics_rank_correlation(const double *x, size_t n);
/*
 * Whether values rise or fall in their order: chance alone gives so large a rank correlation in 2 %
 * of cases. False for n < LEAST_VALUES.
 */
bool statistics_has_trend(const double *x, size_t n);

double statistics_mean(const double *x, size_t n);
double statistics_deviation(const double *x, size_t n); /* of the sample (n - 1); 0 for n < 2 */

/* Two modes of times that were measured in several allocations of memory (modes.c). */

enum modes_of { MODES_NONE, MODES_OF_SAMPLES, MODES_OF_ALLOCATIONS };

struct modes {
	enum modes_of of;
	double value[2], share[2]; /* median and share of the lower and the higher mode */
	/*
	 * MODES_NONE: after how many allocations values changed from one to the other, and back; 0:
	 * no change
	 */
	unsigned after, back;
};

/*
 * The modes of n values in the order of time, each with the number of its allocation, which never
 * decreases.
 *
 * Values of one allocation resemble each other, as do allocations that follow each other, so
 * neither is evidence on its own. There are two modes
 * - of samples: there are at least 80, and where they are split in two with the least variance
 *   within the sides (Otsu 1979), each side has a tenth of them, Ashman's D (1994) is above 4 (a
 *   uniform distribution has 3.5), and in at least half of the allocations each side has 5 %;
 * - of allocations: there are n = 12 at least, and their sorted medians have a gap that is 14 / n
 *   times as wide as the wider side, with n / 6 and 2 + n / 12 on each side. Both sides come back
 *   at least once; if they do not, the values changed over time: MODES_NONE, with `after` and
 *   `back`. Modes that are less than 5 % apart do not count.
 */
struct modes modes_find(const double *value, const unsigned *allocation, size_t n);

#endif
