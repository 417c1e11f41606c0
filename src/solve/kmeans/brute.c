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
	BLOCKS = 8,	   /* between looks at whether floats lose */
	LEAST_CENTRES = 2, /* groups; with fewer, scores are not most of the work */
};

/* ---- scores in float ---- */

void rough_lay_out(struct rough *r, struct carver *c, unsigned d, unsigned k, enum real real)
{
	const struct tiles *f = tiles_choose(REAL_FLOAT);

	*r = (struct rough){ .tiles = tiles_choose(real), .floats = f };
	r->centres = r->exact = packed_carve(c, d, k, REAL_FLOAT);
	r->few = carve(c, (size_t)FEW_ROWS * d * sizeof(*r->few));
	if (real == REAL_FLOAT)
		return;
	r->exact = packed_carve(c, d, k, REAL_DOUBLE);
	r->value = carve(c, (size_t)k * d * sizeof(*r->value));
	r->half = carve(c, k * sizeof(*r->half));
}

/*
 * Two scores in float that differ by more than this are in the same order in double. The slack is
 * (d + 4) * DBL_EPSILON times the magnitude of a score (frame.c). In float the same holds with
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

	r->scores = r->distances = 0;
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

void rough_list(const struct rough *r, const struct stage *g, const uint32_t *listed, unsigned n,
		struct packed *to)
{
	*to = packed_first(to, r->floats, n);
	if (g->real == REAL_FLOAT)
		r->floats->pack(to, g->centre, g->half, listed);
	else
		r->floats->pack(to, r->value, r->half, listed);
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

/* ---- brute force ---- */

/* Lies at the start of a worker's memory. */
struct brute {
	struct rough rough;
	uint32_t *label;
	float *block; /* the points, as floats */
	bool filled;  /* the blocks are */
	double *row;  /* doubles: a block of points */
	bool floats;  /* by floats first; doubles: as long as they help */
	/* in this iteration: points that floats looked at, and those that they did not decide */
	uint64_t points, undecided;
};

/* n <= 64 */
static uint64_t first_bits(unsigned n)
{
	return (n < 64 ? UINT64_C(1) << n : 0) - 1;
}

/* Makes the block of n doubles as floats; unused lanes are 0. */
static void round_points(const struct brute *b, const double *x, const struct stage *g, unsigned n,
			 float *block)
{
	const unsigned lanes = b->rough.floats->block, d = g->d;

	memset(block, 0, (size_t)lanes * d * sizeof(*block));
	for (unsigned i = 0; i < n; i++) {
		b->rough.tiles->relate(b->row, x + (size_t)i * d, g->origin, d);
		for (unsigned j = 0; j < d; j++)
			block[j * lanes + i] = (float)b->row[j];
	}
}

/*
 * The block of n points from `first` on: as floats, which are kept, or in their own type. It is
 * made here and not before, so that loads overlap with computing.
 */
static const void *block_of(struct brute *b, const struct share *s, const struct stage *g,
			    bool floats, size_t first, unsigned n)
{
	const void *x = (const char *)s->x + first * row_bytes(g);
	float *block = b->block + first * g->d;

	if (!floats) {
		b->rough.tiles->transpose(b->row, x, g->origin, n, g->d);
		return b->row;
	}
	if (!b->filled && g->real == REAL_FLOAT)
		b->rough.floats->transpose(block, x, g->origin, n, g->d);
	else if (!b->filled)
		round_points(b, x, g, n, block);
	return block;
}

/*
 * Moves the points with a new label, of n from `first` on. Lists them first, without a branch,
 * which would be mispredicted too often, and fetches all their rows at once.
 */
static void move(struct brute *b, struct share *s, const struct stage *g, size_t first, unsigned n,
		 const uint32_t *now)
{
	const size_t row = row_bytes(g);
	const char *x = (const char *)s->x + first * row;
	uint32_t *label = b->label + first;
	unsigned mover[MOST_BLOCK], movers = 0;

	for (unsigned i = 0; i < n; i++) {
		mover[movers] = i;
		movers += now[i] != label[i];
	}
	for (unsigned m = 0; m < movers; m++)
		prefetch_row(x + mover[m] * row, row);
	for (unsigned m = 0; m < movers; m++) {
		const unsigned i = mover[m];

		b->rough.tiles->relate(s->scratch.row, x + i * row, g->origin, g->d);
		sums_move(&s->change, g->real, s->scratch.row, g->scale, label[i], now[i]);
		label[i] = now[i];
	}
}

/* Points first..last-1: by scores of floats, or of their own type; by distances what these hide. */
static void force(struct brute *b, struct share *s, const struct stage *g, bool floats,
		  size_t first, size_t last)
{
	const struct tiles *t = floats ? b->rough.floats : b->rough.tiles;
	const struct packed *centres = floats ? &b->rough.centres : &b->rough.exact;
	const double margin = floats ? (double)b->rough.margin : g->margin;
	uint64_t undecided = 0;

	for (size_t at = first; at < last; at += t->block) {
		const unsigned n = (unsigned)(last - at < t->block ? last - at : t->block);
		const char *x = (const char *)s->x + at * row_bytes(g);
		uint32_t now[MOST_BLOCK];
		uint64_t others =
			~t->nearest_apart(block_of(b, s, g, floats, at, n), centres, margin, now) &
			first_bits(n);

		for (; others; others &= others - 1, undecided++) {
			const unsigned i = (unsigned)__builtin_ctzll(others);

			now[i] = exact_of_packed(s, g, x + i * row_bytes(g), &b->rough.exact);
		}
		move(b, s, g, at, n, now);
	}
	if (floats) {
		b->points += last - first;
		b->undecided += undecided;
	}
	/* of doubles, a distance in float counts as half */
	if (floats && g->real == REAL_DOUBLE)
		*s->change.computed += (int64_t)((last - first) * g->k / 2 + undecided * g->k);
	else
		*s->change.computed += (int64_t)((last - first) * g->k);
}

/*
 * Of doubles: how much longer floats have taken than doubles alone, in points of these. Half a
 * point is saved by each, and two are lost by one that is not decided.
 */
static double loss(const struct brute *b, const struct stage *g)
{
	return g->real == REAL_DOUBLE ? 2 * (double)b->undecided - (double)b->points / 2 : 0;
}

/* ---- the method ---- */

static void lay_out(struct brute *b, struct carver *c, size_t n, unsigned d, unsigned k,
		    enum real real)
{
	unsigned block;

	carve(c, sizeof(*b));
	rough_lay_out(&b->rough, c, d, k, real);
	block = b->rough.floats->block;
	b->filled = false;
	b->label = carve(c, n * sizeof(*b->label));
	b->block = carve(c, round_up(n, block) * d * sizeof(*b->block));
	b->row = carve(c, real == REAL_DOUBLE ? (size_t)block * d * sizeof(*b->row) : 0);
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

	if (!s->again) {
		lay_out(b, &c, s->n, g->d, g->k, g->real);
		b->floats = g->real == REAL_FLOAT ||
			    (!g->forced && g->k >= LEAST_CENTRES * b->rough.floats->group);
	}
	share_labels_before(s, b->label);
}

/* Floats go on until they have decided so few points that the rest is done sooner without them. */
static void assign(struct share *s, const struct stage *g)
{
	struct brute *b = s->memory;
	const size_t step = (size_t)BLOCKS * b->rough.floats->block;
	size_t first = 0;

	rough_pack(&b->rough, g);
	b->points = b->undecided = 0;
	for (; b->floats && first < s->n && loss(b, g) <= (double)s->n / 32; first += step)
		force(b, s, g, true, first, s->n - first < step ? s->n : first + step);
	b->filled |= first >= s->n;
	if (first < s->n)
		force(b, s, g, false, first, s->n);
	b->floats = b->floats && loss(b, g) <= 0;
}

static void labels(struct share *s, const struct stage *g)
{
	const struct brute *b = s->memory;

	(void)g;
	memcpy(s->label, b->label, s->n * sizeof(*s->label));
}

/* Asked where another method follows: that is made of labels. */
static bool gives_up(struct share *s, const struct stage *g)
{
	(void)s, (void)g;
	return true;
}

const struct method method_brute = { .name = "brute",
				     .bytes = bytes,
				     .build = build,
				     .assign = assign,
				     .labels = labels,
				     .gives_up = gives_up };
