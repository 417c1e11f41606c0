/* SPDX-License-Identifier: Apache-2.0 */
/* Zipf-distributed numbers by rejection-inversion. */
#include <math.h>

#include "kit/random.h"

/* expm1(x) / x and log1p(x) / x, also at 0. */
static double expm1_over(double x)
{
	return fabs(x) > 1e-8 ? expm1(x) / x : 1 + x / 2;
}

static double log1p_over(double x)
{
	return fabs(x) > 1e-8 ? log1p(x) / x : 1 - x / 2;
}

/* The hat 1 / x^exponent, its integral from 1 on, and the inverse of that. */
static double hat(const struct zipf *z, double x)
{
	return exp(-z->exponent * log(x));
}

static double integral(const struct zipf *z, double x)
{
	return expm1_over((1 - z->exponent) * log(x)) * log(x);
}

static double inverse(const struct zipf *z, double y)
{
	return exp(log1p_over(fmax(-1, y * (1 - z->exponent))) * y);
}

struct zipf zipf_of(uint64_t n, double exponent)
{
	struct zipf z = { .exponent = exponent, .n = (double)n };

	z.begin = integral(&z, 1.5) - 1;
	z.end = integral(&z, z.n + 0.5);
	z.sure = 2 - inverse(&z, integral(&z, 2.5) - hat(&z, 2));
	return z;
}

uint64_t zipf_draw(const struct zipf *z, uint64_t random)
{
	for (;; random = random_word(random, 0)) {
		const double y = z->end + random_unit(random) * (z->begin - z->end),
			     x = inverse(z, y);
		const double r = fmin(fmax(floor(x + 0.5), 1), z->n);

		if (r - x <= z->sure || y >= integral(z, r + 0.5) - hat(z, r))
			return (uint64_t)r;
	}
}
