/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/numa/contents.h"

static const struct content {
	const char *name;
	size_t period;
	double base;
} contents[ARRAYS] = {
	[X] = { "array x", 13, 0 },
	[Y] = { "array y", 7, 0 },
	[RESULT] = { "the result", 1, -1 },
};

const char *contents_name(unsigned array)
{
	return contents[array].name;
}

void contents_fill(unsigned array, double *base, size_t begin, size_t end)
{
	const struct content *c = &contents[array];

	for (size_t i = begin, phase = begin % c->period; i < end; i++) {
		base[i] = c->base + (double)phase;
		phase = phase + 1 < c->period ? phase + 1 : 0;
	}
}

static double content(unsigned array, size_t i)
{
	return contents[array].base + (double)(i % contents[array].period);
}

double contents_element(const struct kernel *k, size_t i)
{
	return k->of_x * content(X, i) + k->of_y * content(Y, i);
}

/* Sum of x[0..n). */
static double sum_below(size_t n)
{
	const size_t period = contents[X].period, rest = n % period;
	const size_t sum = n / period * (period * (period - 1) / 2) + rest * (rest - 1) / 2;

	return (double)sum;
}

double contents_sum(size_t begin, size_t end, uint64_t passes)
{
	return (sum_below(end) - sum_below(begin)) * (double)passes;
}
