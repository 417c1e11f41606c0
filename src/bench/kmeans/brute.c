/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "bench/kmeans/brute.h"
#include "bench/kmeans/exact.h"

/* Lies at the start of a worker's memory. */
struct brute {
	const struct tiles *tiles;
	struct packed centres;
	uint32_t *label;
	char *block;
};

_Static_assert(sizeof(struct brute) <= MOST_HEAD, "there is room for it");

static bool fits(const struct problem *p)
{
	(void)p;
	return true;
}

static void lay_out(struct brute *b, struct carver *c, size_t n, unsigned d, unsigned k,
		    enum real real)
{
	const struct tiles *t = tiles_choose(real);

	/* doubles have other blocks than those that methods share */
	if (real == REAL_DOUBLE) {
		carve(c, sizeof(*b));
		b->block = carve(c, round_up(n, t->block) * d * sizeof(double));
	} else {
		b->block = carve_begin(c, n, d);
	}
	b->tiles = t;
	b->centres = packed_carve(c, d, k, real);
	b->label = carve(c, n * sizeof(*b->label));
}

static size_t bytes(const struct problem *p, size_t n)
{
	struct carver c = { .memory = NULL };
	struct brute b;

	lay_out(&b, &c, n, p->points.d, p->k, p->points.real);
	return c.used;
}

static void build(struct share *s, const struct stage *g)
{
	struct carver c = { .memory = s->memory };
	struct brute *b = s->memory;

	lay_out(b, &c, s->n, g->d, g->k, g->real);
	labels_before(b->label, s);
}

void brute_force(const struct tiles *t, const struct packed *centres, char *blocks, uint32_t *label,
		 struct share *s, const struct stage *g, size_t first, size_t last, bool fill)
{
	const size_t row = g->d * real_bytes(g->real);
	uint32_t now[MOST_BLOCK];

	*s->change.computed += (int64_t)((last - first) * g->k);
	for (; first < last; first += t->block) {
		const size_t n = last - first < t->block ? last - first : t->block;
		char *block = blocks + first * row;
		uint64_t others;

		/* here and not in build(), so that loads overlap with computing */
		if (fill)
			t->transpose(block, (const char *)s->x + first * row, g->origin, n, g->d);
		others = ~t->nearest_apart(block, centres, g->margin, now);
		for (others &= UINT64_MAX >> (64 - n); others; others &= others - 1) {
			const unsigned i = (unsigned)__builtin_ctzll(others);

			now[i] = exact_of_packed(s, g, (const char *)s->x + (first + i) * row,
						 centres, NULL);
		}
		t->move(&s->change, block, g->scale, n, label + first, now);
	}
}

static void assign(struct share *s, const struct stage *g)
{
	struct brute *b = s->memory;

	const bool fill = g->real == REAL_DOUBLE ? g->iteration == s->built : !s->filled;

	b->tiles->pack(&b->centres, g->centre, g->half, NULL);
	brute_force(b->tiles, &b->centres, b->block, b->label, s, g, 0, s->n, fill);
	s->filled = g->real == REAL_FLOAT;
}

static void labels(struct share *s, const struct stage *g)
{
	const struct brute *b = s->memory;

	(void)g;
	memcpy(s->label, b->label, s->n * sizeof(*s->label));
}

const struct method method_brute = { "brute", 0,     fits,   NULL,   bytes,
				     NULL,    build, assign, labels, NULL };
