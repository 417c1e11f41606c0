/* SPDX-License-Identifier: Apache-2.0 */
/* Whether times have two modes, among samples or among allocations. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/statistics.h"

enum { LEAST_SAMPLES = 80, LEAST_ALLOCATIONS = 12 };

/* Modes closer than this share of the median are one value to a reader. */
#define LEAST_APART 0.05
/* Both modes occur in an allocation if each has at least this share of its samples. */
#define LEAST_SHARE 0.05
#define LEAST_D	    4
/* A single mode of n allocations has no gap wider than this / n times its wider side. */
#define WIDEST_GAP 14.0

/* Sums of one side of a split. */
struct side {
	double n, sum, squares;
};

static void side_add(struct side *s, double x, int sign)
{
	s->n += sign;
	s->sum += sign * x;
	s->squares += sign * x * x;
}

static double side_variation(const struct side *s) /* sum of squared differences from its mean */
{
	return s->squares - s->sum * s->sum / s->n;
}

static bool apart(double gap, const double *sorted, size_t n)
{
	return gap > LEAST_APART * fabs(sorted[n / 2]);
}

static double distance(const struct side *low, const struct side *high)
{
	const double scatter = (side_variation(low) / low->n + side_variation(high) / high->n) / 2;

	return (high->sum / high->n - low->sum / low->n) / sqrt(fmax(scatter, 1e-300));
}

/* The number of sorted values below the split with the least variance within sides; 0: one mode. */
static size_t split_samples(const double *sorted, size_t n)
{
	struct side low = { 0 }, high = { 0 };
	double best = INFINITY;
	size_t split = 0;
	bool two = false;

	/* Relative to the median: differences of large numbers would lose the scatter. */
	for (size_t i = 0; i < n; i++)
		side_add(&high, sorted[i] - sorted[n / 2], 1);
	for (size_t i = 1; i + n / 10 <= n; i++) {
		const double x = sorted[i - 1] - sorted[n / 2];

		side_add(&low, x, 1);
		side_add(&high, x, -1);
		if (i < n / 10 || side_variation(&low) + side_variation(&high) >= best)
			continue;
		best = side_variation(&low) + side_variation(&high);
		split = i;
		two = distance(&low, &high) > LEAST_D &&
		      apart(high.sum / high.n - low.sum / low.n, sorted, n);
	}
	return two ? split : 0;
}

static bool is_mixed(size_t low, size_t n)
{
	return (double)low >= LEAST_SHARE * (double)n &&
	       (double)(n - low) >= LEAST_SHARE * (double)n;
}

/* Whether at least half of the allocations have values of both sides. */
static bool within_allocations(const double *value, const unsigned *allocation, size_t n,
			       double most_of_low)
{
	size_t low = 0, in = 0, mixed = 0, all = 0;

	for (size_t i = 0; i < n; i++) {
		low += value[i] <= most_of_low;
		in++;
		if (i + 1 < n && allocation[i + 1] == allocation[i])
			continue;
		mixed += is_mixed(low, in);
		all++;
		low = in = 0;
	}
	return 2 * mixed >= all;
}

/* The modes of n sorted values, of which the lower mode has the first `low`. */
static struct modes modes_at(enum modes_of of, const double *sorted, size_t low, size_t n)
{
	return (struct modes){
		.of = of,
		.value = { statistics_quantile(sorted, low, 0.5),
			   statistics_quantile(sorted + low, n - low, 0.5) },
		.share = { (double)low / (double)n, (double)(n - low) / (double)n },
	};
}

/* The number of sorted medians below the widest gap; 0: a single mode may have such a gap. */
static size_t split_allocations(const double *sorted, size_t n)
{
	/* 3 of 12, 4 of 24, 8 of 48; 3 of 18 are too few for so narrow a gap */
	const size_t few = 2 + (n + 11) / 12, sixth = (n + 5) / 6,
		     least = few > sixth ? few : sixth;
	size_t split = least;
	double gap, widest;

	for (size_t i = least; i + least <= n; i++)
		if (sorted[i] - sorted[i - 1] > sorted[split] - sorted[split - 1])
			split = i;
	gap = sorted[split] - sorted[split - 1];
	widest = fmax(sorted[split - 1] - sorted[0], sorted[n - 1] - sorted[split]);
	return gap > WIDEST_GAP / (double)n * widest ? split : 0;
}

/* True if the medians return to both sides; else *m is where they changed sides. */
static bool alternates(const double *median, const unsigned *number, size_t n, double most_of_low,
		       struct modes *m)
{
	unsigned changes = 0;

	for (size_t i = 1; i < n; i++) {
		if ((median[i] <= most_of_low) == (median[i - 1] <= most_of_low))
			continue;
		*(changes ? &m->back : &m->after) = number[i - 1] + 1;
		changes++;
	}
	if (changes > 2)
		m->after = m->back = 0;
	return changes > 2;
}

static struct modes of_samples(const double *value, const unsigned *allocation, size_t n,
			       double *sorted)
{
	size_t low;

	if (n < LEAST_SAMPLES)
		return (struct modes){ MODES_NONE };
	memcpy(sorted, value, n * sizeof(*sorted));
	statistics_sort(sorted, n);
	low = split_samples(sorted, n);
	if (!low || !within_allocations(value, allocation, n, sorted[low - 1]))
		return (struct modes){ MODES_NONE };
	return modes_at(MODES_OF_SAMPLES, sorted, low, n);
}

static struct modes of_allocations(const double *median, const unsigned *number, size_t n,
				   double *sorted)
{
	struct modes m = { MODES_NONE };
	size_t low;

	if (n < LEAST_ALLOCATIONS)
		return m;
	memcpy(sorted, median, n * sizeof(*sorted));
	statistics_sort(sorted, n);
	low = split_allocations(sorted, n);
	if (!low)
		return m;
	m = modes_at(MODES_OF_ALLOCATIONS, sorted, low, n);
	if (!apart(m.value[1] - m.value[0], sorted, n))
		return (struct modes){ MODES_NONE };
	if (!alternates(median, number, n, sorted[low - 1], &m))
		m.of = MODES_NONE;
	return m;
}

struct modes modes_find(const double *value, const unsigned *allocation, size_t n)
{
	double *sorted = calloc(n + 1, sizeof(*sorted)), *median = calloc(n + 1, sizeof(*median));
	unsigned *number = calloc(n + 1, sizeof(*number));
	struct modes m = { MODES_NONE };

	if (sorted && median && number) {
		m = of_samples(value, allocation, n, sorted);
		if (m.of == MODES_NONE)
			m = of_allocations(
				median, number,
				statistics_group_medians(value, allocation, n, median, number),
				sorted);
	}
	free(sorted);
	free(median);
	free(number);
	return m;
}
