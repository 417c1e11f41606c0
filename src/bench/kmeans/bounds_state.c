/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/kmeans/bounds_state.h"

enum { BLOCKS = 8 }; /* in a chunk */
_Static_assert(BLOCKS *MOST_BLOCK <= MOST_CHUNK, "the last chunk is within the blocks");

/* Measured (Sapphire Rapids and Zen 5, AVX-512). Other CPUs have other costs, similar ratios. */
struct costs costs_of(const struct tiles *t, unsigned d, unsigned groups)
{
	const double vectors = (double)d * t->group / t->lanes; /* multiply-adds per group */

	return (struct costs){ .all = 0.62 * vectors * groups,
			       .bound = 60 + 4.0 * groups,
			       .suspect = 200 + groups + d,
			       .look = 60 + 1.5 * vectors,
			       .choose = log2(groups) * (100 + 0.5 * d) };
}

static void lay_out(struct bounds *b, struct carver *c, size_t n, unsigned d, unsigned k,
		    enum real real)
{
	const struct tiles *t = tiles_choose(real);
	const size_t groups = (k + t->group - 1) / t->group, chunk = (size_t)BLOCKS * t->block,
		     chunks = (n + chunk - 1) / chunk;
	void *shared = carve_begin(c, n, d);

	b->tiles = t;
	b->floats = tiles_choose(REAL_FLOAT);
	b->chunk = (unsigned)chunk;
	b->groups = (unsigned)groups;
	b->costs = costs_of(t, d, b->groups);
	b->centres = packed_carve(c, d, k, real);
	if (real == REAL_DOUBLE) {
		filter_lay_out(&b->filter, c, shared, d, k);
		b->rough = packed_carve(c, d, k, REAL_FLOAT);
		b->least = carve(c, (groups + 1) * b->floats->block * sizeof(*b->least));
		b->middle = carve(c, d * sizeof(*b->middle));
		b->plain = b->filter.centres;
	} else {
		b->plain = packed_carve(c, d, k, real);
	}
	b->centre_at = carve(c, k * sizeof(*b->centre_at));
	b->place = carve(c, k * sizeof(*b->place));
	b->rows = carve(c, (size_t)k * d * real_bytes(real));
	b->halves = carve(c, k * real_bytes(real));
	b->along = carve(c, k * sizeof(*b->along));
	b->block = real == REAL_FLOAT ? shared : carve(c, chunks * chunk * d * sizeof(double));
	b->label = carve(c, chunks * chunk * sizeof(*b->label));
	b->bounded = carve(c, chunks * sizeof(*b->bounded));
	b->filled = carve(c, chunks * sizeof(*b->filled));
	b->rounded = carve(c, chunks * sizeof(*b->rounded));
	b->upper = carve(c, chunks * chunk * sizeof(*b->upper));
	b->lower = carve(c, chunks * chunk * sizeof(*b->lower));
	b->group = carve(c, chunks * chunk * groups * sizeof(*b->group));
	b->drift = carve(c, groups * sizeof(*b->drift));
	b->best = carve(c, (groups + 1) * t->block * real_bytes(real));
	b->square = carve(c, chunks * chunk * sizeof(*b->square));
	b->row = carve(c, chunk * d * real_bytes(real));
	b->suspect = carve(c, chunk * sizeof(*b->suspect));
	b->winner = carve(c, chunk * sizeof(*b->winner));
	b->list = carve(c, groups * chunk * sizeof(*b->list));
	b->listed = carve(c, groups * sizeof(*b->listed));
	b->near = carve(c, (groups + 1) * sizeof(*b->near));
	b->reach = carve(c, groups * sizeof(*b->reach));
	b->rise = carve(c, groups * sizeof(*b->rise));
}

size_t bounds_bytes(const struct problem *p, size_t n)
{
	struct carver c = { .memory = NULL };
	struct bounds b;

	lay_out(&b, &c, n, p->points.d, p->k, p->points.real);
	return c.used;
}

void bounds_lay_out(void *memory, size_t n, unsigned d, unsigned k, enum real real)
{
	struct carver c = { .memory = memory };

	lay_out(memory, &c, n, d, k, real);
}
