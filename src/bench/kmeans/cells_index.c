/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "bench/kmeans/cells_index.h"
#include "kit/carve.h"
#include "kit/shares.h"

size_t cells_full(size_t n, unsigned k)
{
	const size_t least = (size_t)4 * TILE, wish = n / k * PER_CENTRE;

	return wish < least ? least : wish < CELL_POINTS ? wish / TILE * TILE : CELL_POINTS;
}

/* For n of all the rank's points. */
static void lay_out(struct index *at, struct carver *c, size_t n, size_t all, unsigned d,
		    unsigned k, enum real real)
{
	const size_t value = real_bytes(real), full = cells_full(all, k),
		     cells = (size_t)2 * SMALL * (n / full + 1), tiles = n / TILE + cells,
		     tile = (size_t)TILE * (d + 1) * sizeof(*at->tile);

	carve(c, sizeof(*at));
	at->d = d;
	at->full = (uint32_t)full;
	at->stride = (uint32_t)(full / TILE + 15) / 16 * 16;
	at->padded = (k + 15) / 16 * 16;
	at->most = k < MOST_CANDIDATES ? k : MOST_CANDIDATES;
	at->bucket = carve(c, n * sizeof(*at->bucket));
	at->histogram = carve(c, (size_t)MOST_LEVELS * (MOST_BUCKETS + 1) * sizeof(*at->histogram));
	at->total = carve(c, MOST_BUCKETS * sizeof(*at->total));
	at->next = carve(c, MOST_BUCKETS * sizeof(*at->next));
	at->order = carve(c, MOST_BUCKETS * sizeof(*at->order));
	at->was = carve(c, n * sizeof(*at->was));
	at->spare_row = at->tile =
		carve(c, tiles * tile > n * d * value ? tiles * tile : n * d * value);
	at->spare_was = carve(c, n * sizeof(*at->spare_was));
	at->cell = carve(c, cells * sizeof(*at->cell));
	at->until = carve(c, cells * at->stride * sizeof(*at->until));
	at->list = carve(c, cells * at->most * sizeof(*at->list));
	at->all = carve(c, k * sizeof(*at->all));
	at->column = carve(c, (size_t)at->padded * (d + 1) * value);
	at->score = carve(c, at->padded * value);
	at->change = carve(c, (size_t)at->padded * (d + 1) * sizeof(*at->change));
	at->rival = carve(c, (size_t)at->padded * (d + 1) * sizeof(*at->rival));
}

size_t cells_bytes(const struct problem *p, size_t n)
{
	struct carver c = { .memory = NULL };
	struct index none;

	lay_out(&none, &c, n, p->points.n, p->points.d, p->k, p->points.real);
	return c.used;
}

void cells_lay_out(struct share *s, const struct stage *g)
{
	const struct joint *j = s->joint;
	struct carver c = { .memory = s->memory };
	struct index *x = s->memory;

	lay_out(x, &c, s->n, j->points, g->d, g->k, g->real);
	x->first = share_begin(j->points, s->index, j->workers);
	x->row = (char *)j->row + x->first * g->d * real_bytes(g->real);
}

/* Group i is for worker i % workers. */
static void order(uint16_t *to, uint32_t buckets, unsigned workers)
{
	const uint32_t length = (buckets - 1) / (workers * GROUPS) + 1;

	for (uint32_t worker = 0; worker < workers; worker++)
		for (uint32_t first = worker * length; first < buckets; first += workers * length)
			for (uint32_t b = first; b < buckets && b < first + length; b++)
				*to++ = (uint16_t)b;
}

void cells_place(struct share *s, uint32_t buckets)
{
	const struct index *x = s->memory;
	uint32_t place = 0;

	order(x->order, buckets, s->joint->workers);
	memset(x->total, 0, buckets * sizeof(*x->total));
	for (unsigned i = 0; i < s->joint->workers; i++) {
		const struct index *other = s->joint->share[i].memory;

		if (i == s->index)
			memcpy(x->next, x->total, buckets * sizeof(*x->next));
		for (uint32_t b = 0; b < buckets; b++)
			x->total[b] += other->histogram[b];
	}
	for (uint32_t i = 0; i < buckets; i++) {
		x->next[x->order[i]] += place;
		place += x->total[x->order[i]];
	}
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

void cells_cut(struct index *x, size_t rows)
{
	if (x->cells && x->cell[x->cells - 1].points + rows <= x->full / SMALL) {
		x->cell[x->cells - 1].points += (uint32_t)rows;
		return;
	}
	while (rows) {
		const uint32_t points = rows < x->full ? (uint32_t)rows : x->full;

		x->cell[x->cells++].points = points;
		rows -= points;
	}
}
