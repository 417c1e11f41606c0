/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdint.h>

#include "bench/kmeans/generate.h"
#include "kit/random.h"

/* What a stream of random words is for. */
enum use { OF_ROWS, OF_CHOICES, OF_MIDDLES, OF_STARTS };

static uint64_t stream(uint64_t seed, enum use use)
{
	return random_word(random_word(seed, 0), use);
}

static void put(const struct points *p, size_t at, double value)
{
	real_set(p->real, p->x, at, value);
}

/* With float only the upper 24 bits are kept: rounding to nearest could yield 1. */
static void uniform_row(const struct points *p, size_t at, uint64_t row)
{
	const uint64_t kept = p->real == REAL_FLOAT ? UINT64_MAX << 40 : UINT64_MAX;

	for (unsigned j = 0; j < p->d; j++)
		put(p, at + j, random_unit(random_word(row, j) & kept));
}

/*
 * Two normal deviates from two words (Box and Muller 1958). With 53 bits they are at most 8.57
 * standard deviations.
 */
static void blob_row(const struct points *p, size_t at, uint64_t row, uint64_t middle,
		     double spread)
{
	for (unsigned j = 0; j < p->d; j += 2) {
		const double radius = spread * sqrt(-2 * log(1 - random_unit(random_word(row, j)))),
			     angle = 2 * M_PI * random_unit(random_word(row, j + 1));

		put(p, at + j, 20 * random_unit(random_word(middle, j)) - 10 + radius * cos(angle));
		if (j + 1 < p->d)
			put(p, at + j + 1,
			    20 * random_unit(random_word(middle, j + 1)) - 10 +
				    radius * sin(angle));
	}
}

void generate_points(const struct recipe *r, size_t first, struct points *part)
{
	const uint64_t rows = stream(r->seed, OF_ROWS), choices = stream(r->seed, OF_CHOICES),
		       middles = stream(r->seed, OF_MIDDLES);

	for (size_t i = 0; i < part->n; i++) {
		const uint64_t row = random_word(rows, first + i);

		if (r->shape == SHAPE_UNIFORM)
			uniform_row(part, i * part->d, row);
		else
			blob_row(part, i * part->d, row,
				 random_word(middles,
					     (random_word(choices, first + i) >> 32) * r->k >> 32),
				 r->spread);
	}
}

/* Permutes twice: a single permutation of few rows draws some a tenth more often than others. */
size_t drawn_row(uint64_t seed, size_t n, size_t turn)
{
	const uint64_t starts = stream(seed, OF_STARTS);

	return random_permute(random_permute(turn, n, random_word(starts, 0)), n,
			      random_word(starts, 1));
}
