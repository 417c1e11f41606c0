/* SPDX-License-Identifier: Apache-2.0 */
#include <float.h>
#include <string.h>

#include "bench/kmeans/brute.h"
#include "bench/kmeans/exact.h"
#include "bench/kmeans/filter.h"

enum {
	BLOCKS = 8, /* between looks at whether the filter loses */
};

/* Lies at the start of a worker's memory. */
struct alone {
	struct filter filter;
	uint32_t *label;
};

/* Points of a block that have a new label. */
struct movers {
	size_t first; /* of the block's points */
	unsigned n, point[MOST_BLOCK];
	uint32_t from[MOST_BLOCK], to[MOST_BLOCK];
};

static bool fits(const struct problem *p)
{
	return p->points.real == REAL_DOUBLE;
}

bool filter_pays(enum real real, unsigned k)
{
	return real == REAL_DOUBLE && k >= 2 * tiles_choose(REAL_FLOAT)->group;
}

static bool pays(const struct problem *p)
{
	return filter_pays(p->points.real, p->k);
}

void filter_lay_out(struct filter *f, struct carver *c, float *block, unsigned d, unsigned k)
{
	const struct tiles *t = tiles_choose(REAL_FLOAT);

	*f = (struct filter){ .floats = t, .tiles = tiles_choose(REAL_DOUBLE) };
	f->rough = packed_carve(c, d, k, REAL_FLOAT);
	f->centres = packed_carve(c, d, k, REAL_DOUBLE);
	f->block = block;
	f->value = carve(c, (size_t)k * d * sizeof(*f->value));
	f->half = carve(c, k * sizeof(*f->half));
	f->row = carve(c, (size_t)t->block * d * sizeof(*f->row));
}

_Static_assert(sizeof(struct alone) <= MOST_HEAD, "there is room for it");

static void lay_out(struct alone *a, struct carver *c, size_t n, unsigned d, unsigned k)
{
	filter_lay_out(&a->filter, c, carve_begin(c, n, d), d, k);
	a->label = carve(c, n * sizeof(*a->label));
}

static size_t bytes(const struct problem *p, size_t n)
{
	struct carver c = { .memory = NULL };
	struct alone a;

	lay_out(&a, &c, n, p->points.d, p->k);
	return c.used;
}

static void build(struct share *s, const struct stage *g)
{
	struct carver c = { .memory = s->memory };
	struct alone *a = s->memory;

	lay_out(a, &c, s->n, g->d, g->k);
	labels_before(a->label, s);
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

void filter_begin(struct filter *f, const struct stage *g)
{
	const double *centre = g->centre, *half = g->half;

	f->margin = margin_of(g);
	f->points = f->undecided = 0;
	for (size_t i = 0; i < (size_t)g->k * g->d; i++)
		f->value[i] = (float)centre[i];
	for (unsigned c = 0; c < g->k; c++)
		f->half[c] = (float)half[c];
	f->floats->pack(&f->rough, f->value, f->half, NULL);
	f->tiles->pack(&f->centres, centre, half, NULL);
}

void filter_round(const struct filter *f, const struct share *s, const struct stage *g,
		  size_t first, unsigned n)
{
	const unsigned lanes = f->floats->block, d = g->d;
	float *block = f->block + first * d;

	memset(block, 0, (size_t)lanes * d * sizeof(*block));
	for (unsigned i = 0; i < n; i++) {
		f->tiles->relate(f->row, (const double *)s->x + (first + i) * d, g->origin, d);
		for (unsigned j = 0; j < d; j++)
			block[j * lanes + i] = (float)f->row[j];
	}
}

/* Fills f->row with the points from `first` on that are listed. */
static void relate_rows(const struct filter *f, const struct share *s, const struct stage *g,
			size_t first, const unsigned *list, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		f->tiles->relate(f->row + (size_t)i * g->d,
				 (const double *)s->x + (first + list[i]) * g->d, g->origin, g->d);
}

/* Points whose bits are set: by doubles. Returns how many. */
static unsigned decide(const struct filter *f, const struct share *s, const struct stage *g,
		       size_t first, uint64_t points, uint32_t *label)
{
	unsigned n = 0;

	for (; points; points &= points - 1, n++) {
		const unsigned i = (unsigned)__builtin_ctzll(points);

		label[i] = exact_of_packed(s, g, (const double *)s->x + (first + i) * g->d,
					   &f->centres, NULL);
	}
	return n;
}

/*
 * Lists a block's points that have a new label, without a branch, and prefetches them: they are
 * moved after the next block's scores.
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
		const char *x = (const char *)s->x + (first + i) * row;

		prefetch_row(x, row);
		m->from[e] = before[i];
		m->to[e] = before[i] = now[i];
	}
}

static void move(const struct filter *f, struct share *s, const struct stage *g,
		 const struct movers *m)
{
	relate_rows(f, s, g, m->first, m->point, m->n);
	for (unsigned e = 0; e < m->n; e++)
		sums_move_double(&s->change, f->row + (size_t)e * g->d, g->scale, m->from[e],
				 m->to[e]);
}

/* Of the distances that are computed, one in float counts as half. */
void filter_force(struct filter *f, uint32_t *label, struct share *s, const struct stage *g,
		  size_t first, size_t last, bool fill)
{
	const unsigned most = f->floats->block;
	struct movers movers = { .n = 0 };
	uint64_t undecided = 0;

	*s->change.computed += (int64_t)((last - first) * g->k / 2);
	f->points += last - first;
	for (; first < last; first += most) {
		const unsigned n = (unsigned)(last - first < most ? last - first : most);
		uint32_t now[MOST_BLOCK];
		uint64_t others;

		if (fill)
			filter_round(f, s, g, first, n);
		others = ~f->floats->nearest_apart(f->block + first * g->d, &f->rough, f->margin,
						   now);
		if (n < MOST_BLOCK)
			others &= (UINT64_C(1) << n) - 1;
		undecided += decide(f, s, g, first, others, now);
		move(f, s, g, &movers);
		list(&movers, s, g, first, n, label + first, now);
	}
	move(f, s, g, &movers);
	*s->change.computed += (int64_t)(undecided * g->k);
	f->undecided += undecided;
}

/*
 * How much longer the filter has taken than brute force, in points of brute force: half a point is
 * saved by each, and two are lost by one that is not decided.
 */
static double loss(const struct filter *f)
{
	return 2 * (double)f->undecided - (double)f->points / 2;
}

bool filter_helps(const struct filter *f)
{
	return loss(f) <= 0;
}

bool filter_loses(const struct filter *f, size_t n)
{
	return loss(f) > (double)n / 32;
}

/* The points from `first` on, by doubles alone. */
static void force(const struct filter *f, uint32_t *label, const struct share *s,
		  const struct stage *g, size_t first)
{
	const size_t most = f->tiles->block;
	struct share rest = *s;

	for (; first < s->n; first += most) {
		rest.x = (const double *)s->x + first * g->d;
		brute_force(f->tiles, &f->centres, (char *)f->row, label + first, &rest, g, 0,
			    s->n - first < most ? s->n - first : most, true);
	}
}

void filter_assign(struct filter *f, uint32_t *label, struct share *s, const struct stage *g)
{
	const size_t step = (size_t)BLOCKS * f->floats->block;
	size_t first = 0;

	for (; first < s->n && (g->forced || !filter_loses(f, s->n)); first += step)
		filter_force(f, label, s, g, first, s->n - first < step ? s->n : first + step,
			     !s->filled);
	s->filled |= first >= s->n;
	if (first < s->n)
		force(f, label, s, g, first);
}

static void assign(struct share *s, const struct stage *g)
{
	struct alone *a = s->memory;

	filter_begin(&a->filter, g);
	filter_assign(&a->filter, a->label, s, g);
}

static void labels(struct share *s, const struct stage *g)
{
	const struct alone *a = s->memory;

	(void)g;
	memcpy(s->label, a->label, s->n * sizeof(*s->label));
}

const struct method method_filter = { "filter", 1,     fits,   pays,   bytes,
				      NULL,	build, assign, labels, NULL };
