/* SPDX-License-Identifier: Apache-2.0 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "bench/kmeans/cells_index.h"
#include "bench/kmeans/exact.h"
#include "kit/instructions.h"

/* How the centres moved, at most: the largest move, and a centre's largest distance from 0. */
struct pace {
	double fastest, far;
};

/* A tile some of whose points have a new label, or may have. */
struct tile {
	float old[TILE] __attribute__((aligned(TILE * sizeof(float)))); /* labels before */
	const struct cell *cell;
	uint32_t number, changed, unsure; /* in its cell; points, as bits */
};

enum { MOST_LISTED = 64 }; /* tiles, until their points are moved */

static inline float *tile_of(const struct index *x, const struct cell *cell, uint32_t t, unsigned d)
{
	return x->tile + (size_t)(cell->tile + t) * TILE * (d + 1);
}

/* How many points a cell's listed tiles have. */
static inline uint32_t points_of(const struct cell *cell, uint64_t tiles)
{
	const uint32_t last = (cell->points - 1) / TILE, padding = (last + 1) * TILE - cell->points;

	return (uint32_t)__builtin_popcountll(tiles) * TILE - (tiles >> last & 1 ? padding : 0);
}

/* A tile's points as given: rows of so many bytes. */
static inline const void *given_of(const struct index *x, const struct cell *cell, uint32_t t,
				   size_t bytes)
{
	return (const char *)x->row + (cell->row + (size_t)t * TILE) * bytes;
}

/* From the first to the last listed point: two cache lines hold most of them. */
static inline void fetch_rows(const struct index *x, const struct cell *cell, uint32_t t,
			      uint32_t lanes, size_t bytes)
{
	const char *const row = given_of(x, cell, t, bytes);

	__builtin_prefetch(row + (size_t)__builtin_ctz(lanes) * bytes);
	__builtin_prefetch(row + (size_t)(31 - __builtin_clz(lanes)) * bytes);
}

/* Compares labels; as integers, so that NaN costs no branch. */
static inline bool same(const float *a, const float *b)
{
	uint32_t bits[2];

	memcpy(&bits[0], a, sizeof(bits[0]));
	memcpy(&bits[1], b, sizeof(bits[1]));
	return bits[0] == bits[1];
}

/* Transposes the centres, padded with centres that are never nearest; notes their changes. */
static struct pace columns(struct index *x, const struct stage *g)
{
	double *change = x->change, square = 0;
	struct pace pace = { 0 };

	for (uint32_t c = 0; c < x->padded; c++)
		for (unsigned j = 0; j <= g->d; j++) {
			const size_t at = (size_t)j * x->padded + c;
			const double was = real_get(g->real, x->column, at);
			double now = j < g->d ? 0 : INFINITY;

			if (c < g->k)
				now = j < g->d ? real_get(g->real, g->centre, (size_t)c * g->d + j)
					       : real_get(g->real, g->half, c);
			real_set(g->real, x->column, at, now);
			*change++ = now - was;
		}
	for (unsigned c = 0; c < g->k; c++) {
		pace.fastest = g->moved[c] > pace.fastest ? g->moved[c] : pace.fastest;
		square = fmax(square, real_get(g->real, g->half, c));
	}
	pace.far = sqrt(2 * square);
	return pace;
}

/* Finds the labels of a tile's unsure points. */
static void settle(const struct index *x, const struct stage *g, struct tile *of)
{
	const size_t row = g->d * real_bytes(g->real);
	const char *rows = given_of(x, of->cell, of->number, row);
	float *const label = tile_of(x, of->cell, of->number, g->d) + (size_t)g->d * TILE;

	for (uint32_t unsure = of->unsure; unsure; unsure &= unsure - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(unsure);

		label[lane] = (float)exact_nearest(g, rows + lane * row, candidates(x, of->cell),
						   of->cell->candidates);
		of->changed &= ~(1u << lane);
		of->changed |= (uint32_t)(label[lane] != of->old[lane]) << lane;
	}
}

#define LOOPS "bench/kmeans/cells_assign.h"
#define LOOPS_FLOATS
#include "bench/kmeans/vectors.h"

void cells_assign(struct share *s, const struct stage *g)
{
#ifdef __x86_64__
	if (g->widest >= ISA_AVX512 && isa_usable(ISA_AVX512)) {
		assign_any_avx512_float(s, g);
		return;
	}
	if (g->widest >= ISA_AVX2 && isa_usable(ISA_AVX2)) {
		assign_any_avx2_float(s, g);
		return;
	}
#endif
	assign_any_baseline_float(s, g);
}
