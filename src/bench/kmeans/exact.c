/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "bench/kmeans/exact.h"

enum { STRIDE = 8 }; /* dimensions between looks at whether the distance is too long already */

/* A sum of squares within these is a double's, to its rounding. */
#define LEAST_SQUARE 0x1p-900
#define MOST_SQUARE  0x1p1000

/* The square of the longest difference that a double holds has an exponent of its own. */
static long double wide_square(const struct stage *g, const void *given, const double *centre)
{
	long double sum = 0;

	for (unsigned j = 0; j < g->d; j++) {
		const long double apart = (long double)real_get(g->real, given, j) - centre[j];

		sum += apart * apart;
	}
	return sum;
}

/* Ends early, with any larger value, where the square exceeds `most`. */
static inline __attribute__((always_inline)) double
square_of(enum real real, const void *given, const double *centre, unsigned d, double most)
{
	double sum = 0;

	for (unsigned j = 0; j < d; j += STRIDE) {
		const unsigned end = d - j < STRIDE ? d : j + STRIDE;

		for (unsigned i = j; i < end; i++) {
			const double apart = real_get(real, given, i) - centre[i];

			sum += apart * apart;
		}
		if (sum > most)
			break;
	}
	return sum;
}

static long double square(const struct stage *g, const void *given, uint32_t c, long double most)
{
	const double *centre = g->given + (size_t)c * g->d, limit = (double)most;
	const double sum = g->real == REAL_FLOAT
				   ? square_of(REAL_FLOAT, given, centre, g->d, limit)
				   : square_of(REAL_DOUBLE, given, centre, g->d, limit);

	if (sum > LEAST_SQUARE && sum < MOST_SQUARE)
		return sum;
	return wide_square(g, given, centre);
}

uint32_t exact_nearest(const struct stage *g, const void *given, const uint32_t *list, unsigned n)
{
	long double least = INFINITY;
	uint32_t nearest = UINT32_MAX;

	for (unsigned i = 0; i < n; i++) {
		const uint32_t c = list ? list[i] : i;
		const long double now = square(g, given, c, least);

		if (now < least || (now <= least && c < nearest)) {
			least = now;
			nearest = c;
		}
	}
	return nearest;
}

uint32_t exact_of_packed(const struct share *s, const struct stage *g, const void *given,
			 const struct packed *centres, const uint32_t *list)
{
	const struct tiles *t = tiles_choose(g->real);
	const struct scratch *to = &s->scratch;
	double most;
	unsigned n = 0;

	t->relate(to->row, given, g->origin, g->d);
	most = t->scores(to->row, centres, to->score) + g->margin;
	for (unsigned i = 0; i < centres->k; i++) {
		to->near[n] = list ? list[i] : i;
		n += real_get(g->real, to->score, i) <= most;
	}
	return exact_nearest(g, given, to->near, n);
}

struct scratch exact_carve(struct carver *c, unsigned d, unsigned k)
{
	const size_t centres = round_up(k, 4 * (size_t)MOST_WIDTH);

	return (struct scratch){ .row = carve(c, d * sizeof(double)),
				 .score = carve(c, centres * sizeof(double)),
				 .near = carve(c, (centres + 1) * sizeof(uint32_t)) };
}
