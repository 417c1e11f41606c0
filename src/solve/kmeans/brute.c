/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Brute force: all centres for all points, a block of points at a time. Doubles may be compared as
 * floats first. Where the least score of a point, in float, is below all others by more than
 * rounding can hide, its centre is also the nearest in double; the other points are decided by
 * scores of doubles, or distances. So the labels are those of doubles, bit for bit.
 */
#include <float.h>
#include <string.h>

#include "solve/kmeans/nearest.h"

enum {
	BLOCKS = 8,	   /* blocks between checks whether floats lose */
	LEAST_CENTRES = 2, /* groups of centres; with fewer, scores are not most of the work */
};

/* Points of a block with a new label. */
struct movers {
	size_t first; /* of the block's points */
	unsigned n, point[MOST_BLOCK];
	uint32_t from[MOST_BLOCK], to[MOST_BLOCK];
};

void rough_lay_out(struct rough *r, struct carver *c, size_t n, unsigned d, unsigned k,
		   enum real real)
{
	const struct tiles *f = tiles_choose(REAL_FLOAT);

	*r = (struct rough){ .tiles = tiles_choose(real), .floats = f };
	r->block = carve(c, round_up(n, f->block) * d * sizeof(*r->block));
	r->centres = r->exact = packed_carve(c, d, k, REAL_FLOAT);
	r->few = carve(c, (size_t)FEW_ROWS * d * sizeof(*r->few));
	if (real == REAL_FLOAT)
		return;
	r->exact = packed_carve(c, d, k, REAL_DOUBLE);
	r->value = carve(c, (size_t)k * d * sizeof(*r->value));
	r->half = carve(c, k * sizeof(*r->half));
	r->row = carve(c, (size_t)f->block * d * sizeof(*r->row));
}

/*
 * Two scores in float that differ by more than this have the same order in double. The slack is (d
 * + 4) * DBL_EPSILON times the magnitude of a score (frame.c). In float the same holds with
 * FLT_EPSILON, and each factor was rounded to float before. Twice, because each score may be off;
 * and a little more, because the difference is computed in float.
 */
static double margin_of(const struct stage *g)
{
	const double magnitude = g->slack / ((g->d + 4) * DBL_EPSILON);

	return 2.01 * ((g->d + 8) * (FLT_EPSILON * magnitude + FLT_MIN) + g->slack);
}

void rough_pack(struct rough *r, const struct stage *g)
{
	const double *centre = g->centre, *half = g->half;

	r->scores = r->distances = r->points = r->undecided = 0;
	if (g->real == REAL_FLOAT) {
		r->margin = (float)g->margin * UPPER;
		r->error = (float)(2 * g->slack) * UPPER;
		r->floats->pack(&r->centres, g->centre, g->half, NULL);
		return;
	}
	r->margin = r->error = (float)margin_of(g) * UPPER;
	for (size_t i = 0; i < (size_t)g->k * g->d; i++)
		r->value[i] = (float)centre[i];
	for (unsigned c = 0; c < g->k; c++)
		r->half[c] = (float)half[c];
	r->floats->pack(&r->centres, r->value, r->half, NULL);
	r->tiles->pack(&r->exact, centre, half, NULL);
}

/*
 * Finds the labels of points first..last-1 by scores of the points' type. Their blocks begin at
 * `blocks`; `fill`: the blocks must be filled first.
 */
static void force_exactly(struct rough *r, char *blocks, uint32_t *label, struct share *s,
			  const struct stage *g, size_t first, size_t last, bool fill)
{
	const struct tiles *t = r->tiles;
	const size_t row = g->d * real_bytes(g->real);
	uint32_t now[MOST_BLOCK];

	*s->change.computed += (int64_t)((last - first) * g->k);
	for (; first < last; first += t->block) {
		const size_t n = last - first < t->block ? last - first : t->block;
		const char *x = (const char *)s->x + first * row;
		uint64_t others;

		/* here and not earlier, so that loads overlap with computing */
		if (fill)
			t->transpose(blocks, x, g->origin, n, g->d);
		others = ~t->nearest_apart(blocks, &r->exact, g->margin, now);
		for (others &= UINT64_MAX >> (64 - n); others; others &= others - 1) {
			const unsigned i = (unsigned)__builtin_ctzll(others);

			now[i] = exact_of_packed(s, g, x + i * row, &r->exact, NULL);
		}
		t->move(&s->change, blocks, g->scale, n, label + first, now);
		if (g->real == REAL_FLOAT) /* doubles have room for one block */
			blocks += t->block * row;
	}
}

/* Makes the block of n points that begins at point `first`, as floats; unused lanes are 0. */
static void round_points(const struct rough *r, const struct share *s, const struct stage *g,
			 size_t first, unsigned n)
{
	const unsigned lanes = r->floats->block, d = g->d;
	float *block = r->block + first * d;

	memset(block, 0, (size_t)lanes * d * sizeof(*block));
	for (unsigned i = 0; i < n; i++) {
		r->tiles->relate(r->row, (const double *)s->x + (first + i) * d, g->origin, d);
		for (unsigned j = 0; j < d; j++)
			block[j * lanes + i] = (float)r->row[j];
	}
}

/* Decides the points with set bits by doubles. Returns how many. */
static unsigned decide(const struct rough *r, const struct share *s, const struct stage *g,
		       size_t first, uint64_t points, uint32_t *label)
{
	unsigned n = 0;

	for (; points; points &= points - 1, n++) {
		const unsigned i = (unsigned)__builtin_ctzll(points);

		label[i] = exact_of_packed(s, g, (const double *)s->x + (first + i) * g->d,
					   &r->exact, NULL);
	}
	return n;
}

/*
 * Lists a block's points with a new label, without a branch, and prefetches them: they are moved
 * after the next block's scores.
 */
static void list(struct movers *m, const struct share *s, const struct stage *g, size_t first,
		 unsigned n, uint32_t *before, const uint32_t *now)
{
	const size_t row = g->d * sizeof(double);

	m->first = first;
	m->n = 0;
	for (unsigned i = 0; i < n; i++) {
		m->point[m->n] = i;
		m->n += now[i] != before[i];
	}
	for (unsigned e = 0; e < m->n; e++) {
		const unsigned i = m->point[e];

		prefetch_row((const char *)s->x + (first + i) * row, row);
		m->from[e] = before[i];
		m->to[e] = before[i] = now[i];
	}
}

static void move(const struct rough *r, struct share *s, const struct stage *g,
		 const struct movers *m)
{
	for (unsigned e = 0; e < m->n; e++)
		r->tiles->relate(r->row + (size_t)e * g->d,
				 (const double *)s->x + (m->first + m->point[e]) * g->d, g->origin,
				 g->d);
	for (unsigned e = 0; e < m->n; e++)
		sums_move_double(&s->change, r->row + (size_t)e * g->d, g->scale, m->from[e],
				 m->to[e]);
}

/* n <= 64 */
static uint64_t first_bits(unsigned n)
{
	return (n < 64 ? UINT64_C(1) << n : 0) - 1;
}

/* Points of doubles: tries floats first. A distance computed in float counts as half. */
static void force_roughly(struct rough *r, uint32_t *label, struct share *s, const struct stage *g,
			  size_t first, size_t last)
{
	const unsigned most = r->floats->block;
	struct movers movers = { .n = 0 };
	uint64_t undecided = 0;

	*s->change.computed += (int64_t)((last - first) * g->k / 2);
	r->points += last - first;
	for (; first < last; first += most) {
		const unsigned n = (unsigned)(last - first < most ? last - first : most);
		uint32_t now[MOST_BLOCK];
		uint64_t others;

		if (!r->filled)
			round_points(r, s, g, first, n);
		others = ~r->floats->nearest_apart(r->block + first * g->d, &r->centres,
						   (double)r->margin, now);
		undecided += decide(r, s, g, first, others & first_bits(n), now);
		move(r, s, g, &movers);
		list(&movers, s, g, first, n, label + first, now);
	}
	move(r, s, g, &movers);
	*s->change.computed += (int64_t)(undecided * g->k);
	r->undecided += undecided;
}

/*
 * The time lost by trying floats first, in units of a point decided by doubles: a point that floats
 * decide saves half a unit, another one costs two.
 */
static double loss(const struct rough *r)
{
	return 2 * (double)r->undecided - (double)r->points / 2;
}

bool rough_helps(const struct rough *r)
{
	return loss(r) <= 0;
}

void rough_force(struct rough *r, uint32_t *label, struct share *s, const struct stage *g,
		 bool floats)
{
	const size_t step = (size_t)BLOCKS * r->floats->block;
	size_t first = 0;

	if (g->real == REAL_FLOAT) {
		force_exactly(r, (char *)r->block, label, s, g, 0, s->n, !r->filled);
		r->filled = true;
		return;
	}
	for (; floats && first < s->n && loss(r) <= (double)s->n / 32; first += step)
		force_roughly(r, label, s, g, first, s->n - first < step ? s->n : first + step);
	r->filled |= first >= s->n;
	if (first < s->n)
		force_exactly(r, (char *)r->row, label, s, g, first, s->n, true);
}

void rough_list(const struct rough *r, const struct stage *g, const uint32_t *listed, unsigned n,
		struct packed *to)
{
	*to = packed_first(to, r->floats, n);
	r->floats->pack(to, rough_values(r, g), rough_halves(r, g), listed);
}

void rough_nearest(struct rough *r, const char *rows, const uint32_t *point, unsigned n,
		   const struct packed *list, const uint32_t *listed, uint32_t *label, float *ahead)
{
	_Alignas(64) float score[FEW_ROWS], second[FEW_ROWS];

	r->tiles->floats(r->few, rows, point, n, list->d);
	r->floats->two_of_rows(r->few, n, list, label, score, second);
	r->scores += (uint64_t)n * list->k;
	for (unsigned i = 0; i < n; i++) {
		label[i] = listed[label[i]];
		ahead[i] = second[i] - score[i] > r->margin ? second[i] - score[i] : 0;
	}
}

/* ---- the method ---- */

/* Lies at the start of a worker's memory. */
struct brute {
	struct rough rough;
	uint32_t *label;
	bool floats; /* as long as they help */
};

static void lay_out(struct brute *b, struct carver *c, size_t n, unsigned d, unsigned k,
		    enum real real)
{
	carve(c, sizeof(*b));
	rough_lay_out(&b->rough, c, n, d, k, real);
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
	b->floats = !g->forced && g->k >= LEAST_CENTRES * b->rough.floats->group;
	share_labels_before(s, b->label);
}

static void assign(struct share *s, const struct stage *g)
{
	struct brute *b = s->memory;

	rough_pack(&b->rough, g);
	rough_force(&b->rough, b->label, s, g, b->floats);
	b->floats = b->floats && rough_helps(&b->rough);
}

static void labels(struct share *s, const struct stage *g)
{
	const struct brute *b = s->memory;

	(void)g;
	memcpy(s->label, b->label, s->n * sizeof(*s->label));
}

const struct method method_brute = {
	.name = "brute", .bytes = bytes, .build = build, .assign = assign, .labels = labels
};
