/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdbool.h>

#include "bench/kmeans/cells_index.h"
#include "kit/carve.h"

size_t cells_full(size_t n, unsigned k, enum real real)
{
	const size_t tile = TILE_BYTES / real_bytes(real), wish = n / k * PER_CENTRE;

	return wish < 4 * tile ? 4 * tile : wish < CELL_POINTS ? wish / tile * tile : CELL_POINTS;
}

static void lay_out(struct index *at, struct carver *c, size_t n, unsigned d, unsigned k,
		    enum real real)
{
	const size_t value = real_bytes(real), tile = TILE_BYTES / value,
		     full = cells_full(n, k, real);
	const size_t cells = (size_t)2 * SMALL * (n / full + 1), tiles = n / tile + cells;

	carve(c, sizeof(*at));
	at->d = d;
	at->full = (uint32_t)full;
	at->stride = (uint32_t)(full / tile + 15) / 16 * 16;
	at->padded = (k + 15) / 16 * 16;
	at->most = k < MOST_CANDIDATES ? k : MOST_CANDIDATES;
	at->record = carve(c, n * (d + 1) * value);
	at->spare = at->tile = carve(c, tiles * TILE_BYTES * (d + 1));
	at->bucket = carve(c, n * sizeof(*at->bucket));
	at->histogram = carve(c, (size_t)MOST_LEVELS * (MOST_BUCKETS + 1) * sizeof(*at->histogram));
	at->cell = carve(c, cells * sizeof(*at->cell));
	at->until = carve(c, cells * at->stride * value);
	at->from = carve(c, tiles * tile * sizeof(*at->from));
	at->list = carve(c, cells * at->most * sizeof(*at->list));
	at->all = carve(c, k * sizeof(*at->all));
	at->column = carve(c, (size_t)at->padded * (d + 1) * value);
	at->score = carve(c, at->padded * value);
	at->change = carve(c, (size_t)at->padded * (d + 1) * sizeof(*at->change));
}

size_t cells_bytes(size_t n, unsigned d, unsigned k, enum real real)
{
	struct carver c = { .memory = NULL };
	struct index none;

	lay_out(&none, &c, n, d, k, real);
	return c.used;
}

void cells_lay_out(void *memory, size_t n, unsigned d, unsigned k, enum real real)
{
	struct carver c = { .memory = memory };

	lay_out(memory, &c, n, d, k, real);
}

void cells_divide(const double *extent, unsigned d, double buckets, uint32_t *side)
{
	double longest = 0, edge = INFINITY, all = 1;
	unsigned widest = 0;
	bool flat[MOST_DIMENSIONS] = { false };

	buckets = fmin(fmax(buckets, 1), AIM_BUCKETS);
	for (unsigned j = 0; j < d; j++)
		if (extent[j] > longest) {
			longest = extent[j];
			widest = j;
		}
	/* a side shorter than a bucket's edge is not divided; the others get more buckets */
	for (unsigned turn = 0; turn < d; turn++) {
		double volume = 1;
		unsigned left = 0;

		for (unsigned j = 0; j < d; j++)
			if (!flat[j] && extent[j] > 0) {
				volume *= extent[j] / longest;
				left++;
			}
		volume /= buckets;
		edge = left ? longest * (left == 1   ? volume
					 : left == 2 ? sqrt(volume)
						     : cbrt(volume))
			    : INFINITY;
		for (unsigned j = 0; j < d; j++)
			flat[j] = extent[j] < edge;
	}
	for (unsigned j = 0; j < d; j++) {
		side[j] = flat[j] || !(extent[j] / edge >= 1)
				  ? 1
				  : (uint32_t)fmin(extent[j] / edge, buckets);
		all *= side[j];
	}
	/* buckets lost by rounding go to the side with the longest ones */
	while (longest > 0 && all < fmax(buckets, 2)) {
		unsigned most = widest;

		for (unsigned j = 0; j < d; j++)
			if (extent[j] / side[j] > extent[most] / side[most])
				most = j;
		all = all / side[most] * (side[most] + 1);
		side[most]++;
	}
}

void cells_cut(struct index *x, size_t records)
{
	if (x->cells && x->cell[x->cells - 1].points + records <= x->full / SMALL) {
		x->cell[x->cells - 1].points += (uint32_t)records;
		return;
	}
	while (records) {
		const uint32_t points = records < x->full ? (uint32_t)records : x->full;

		x->cell[x->cells++].points = points;
		records -= points;
	}
}
