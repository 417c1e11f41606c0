/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/ranks.h"
#include "kit/random.h"
#include "kit/shares.h"
#include "kit/unroll.h"
#include "solve/kmeans/nearest.h"
#include "solve/kmeans/order.h"

/* ---- sorted ---- */

enum { AHEAD = 8 }; /* rows, for prefetching */

size_t sorted_points(const struct problem *p)
{
	return share_size(share_size(p->all, 0, ranks_of(p->ranks)), 0, p->threads);
}

bool sorted_fits(const struct problem *p)
{
	return p->k < UINT16_MAX && sorted_points(p) < UINT32_MAX;
}

void sorted_lay_out(struct sorted *s, struct carver *c, size_t n, unsigned d, enum real real)
{
	*s = (struct sorted){ .done = false };
	s->point = carve(c, n * sizeof(*s->point));
	s->label = carve(c, n * sizeof(*s->label));
	s->row = carve(c, n * d * real_bytes(real));
}

void sorted_rows(struct sorted *sorted, const struct share *s, const struct stage *g)
{
	const struct tiles *t = tiles_choose(g->real);
	const size_t row = row_bytes(g);

	for (size_t i = 0; i < s->n; i++) {
		if (i + AHEAD < s->n)
			prefetch_row((const char *)s->x + sorted->point[i + AHEAD] * row, row);
		sorted_relate(sorted, t, s, g, i, sorted->point[i]);
	}
}

void sorted_follow(struct sorted *sorted, size_t n, uint32_t *other)
{
	for (size_t i = 0; i < n; i++)
		other[i] = sorted->label[sorted->point[i]];
	memcpy(sorted->label, other, n * sizeof(*other));
}

void sorted_make(struct sorted *sorted, const struct share *s, const struct stage *g, uint32_t *end,
		 uint32_t *other)
{
	memset(end, 0, g->k * sizeof(*end));
	for (size_t i = 0; i < s->n; i++)
		end[sorted->label[i]]++;
	begin_each(end, g->k);
	for (size_t i = 0; i < s->n; i++)
		sorted->point[end[sorted->label[i]]++] = (uint32_t)i;
	sorted_follow(sorted, s->n, other);
	sorted_rows(sorted, s, g);
	sorted->done = true;
}

void sorted_labels(const struct sorted *sorted, struct share *s)
{
	for (size_t i = 0; i < s->n; i++)
		s->label[sorted->done ? sorted->point[i] : i] = sorted->label[i];
}

/* ---- halving rows ---- */

enum {
	LEAST_PART = 4000, /* points of a part, about */
	AT_ONCE = 4,	   /* points that go down the tree together */
};

static void swap(struct tree *t, size_t a, size_t b)
{
	const float key = t->key[a];
	const uint32_t order = t->order[a];

	t->key[a] = t->key[b];
	t->order[a] = t->order[b];
	t->key[b] = key;
	t->order[b] = order;
}

/* The median of three keys, drawn so that no order of points makes selection slow. */
static float draw_pivot(const struct tree *t, size_t first, size_t n, uint64_t turn)
{
	float key[3];

	for (unsigned i = 0; i < 3; i++)
		key[i] = t->key[first + random_word(turn, i) % n];
	return larger_of(smaller_of(key[0], key[1]), smaller_of(larger_of(key[0], key[1]), key[2]));
}

/*
 * Moves rows of first..last-1 with a smaller (or not greater) key to the front. Returns their end.
 */
static size_t put_first(struct tree *t, size_t first, size_t last, float pivot, bool equal)
{
	size_t end = first;

	for (size_t i = first; i < last; i++) {
		const float key = t->key[i];

		swap(t, end, i);
		end += equal ? key <= pivot : key < pivot; /* no branch: keys are unpredictable */
	}
	return end;
}

/* Selection: afterwards no key in first..middle-1 is greater than any in middle..last-1. */
static void part(struct tree *t, size_t first, size_t last, size_t middle)
{
	for (uint64_t turn = last; last - first > 1; turn++) {
		const float pivot = draw_pivot(t, first, last - first, turn);
		const size_t less = put_first(t, first, last, pivot, false);

		if (middle < less) {
			last = less;
		} else if (less > first) {
			first = less;
		} else { /* the pivot is the least key */
			first = put_first(t, first, last, pivot, true);
			if (middle < first)
				return;
		}
	}
}

unsigned tree_widest(const float *low, const float *high, unsigned d)
{
	unsigned widest = 0;

	for (unsigned j = 1; j < d; j++)
		widest = high[j] - low[j] > high[widest] - low[widest] ? j : widest;
	return widest;
}

void tree_enclose(const float *rows, const uint32_t *order, size_t first, size_t last, unsigned d,
		  float *low, float *high)
{
	for (unsigned j = 0; j < d; j++) {
		low[j] = INFINITY;
		high[j] = -INFINITY;
	}
	for (size_t i = first; i < last; i++) {
		const float *row = rows + (size_t)order[i] * d;

		for (unsigned j = 0; j < d; j++) {
			low[j] = smaller_of(low[j], row[j]);
			high[j] = larger_of(high[j], row[j]);
		}
	}
}

float tree_halve(struct tree *t, const float *rows, size_t first, size_t last, size_t middle,
		 unsigned by, unsigned d)
{
	for (size_t i = first; i < last; i++)
		t->key[i] = rows[(size_t)t->order[i] * d + by];
	part(t, first, last, middle);
	return t->key[middle];
}

/* ---- the top of the tree ---- */

unsigned tree_levels(size_t n)
{
	unsigned levels = 0;

	while (2 << levels <= MOST_PARTS && n >> levels >= (size_t)2 * LEAST_PART)
		levels++;
	return levels;
}

void tree_lay_out(struct tree *t, struct carver *c, size_t points, size_t rows, unsigned d)
{
	const size_t sample = (size_t)SAMPLED << tree_levels(points),
		     room = rows > sample ? rows : sample;

	t->top = carve(c, MOST_PARTS * sizeof(*t->top));
	t->sample = carve(c, sample * d * sizeof(*t->sample));
	t->key = carve(c, room * sizeof(*t->key));
	t->order = carve(c, room * sizeof(*t->order));
	t->low = carve(c, d * sizeof(*t->low));
	t->high = carve(c, d * sizeof(*t->high));
	t->exact = carve(c, d * sizeof(*t->exact));
}

/* Makes row `to` of a given point. */
static void read_point(const struct tree *t, const void *x, const struct stage *g, size_t point,
		       float *to)
{
	const struct tiles *tiles = tiles_choose(g->real);
	const char *given = (const char *)x + point * g->d * real_bytes(g->real);
	const uint32_t itself = 0;

	if (g->real == REAL_FLOAT) {
		tiles->relate(to, given, g->origin, g->d);
		return;
	}
	tiles->relate(t->exact, given, g->origin, g->d);
	tiles->floats(to, t->exact, &itself, 1, g->d);
}

/* The mean logarithm of the sides of t->low and t->high, without sides of length 0. */
double tree_log_of_sides(const struct tree *t, unsigned d)
{
	double sum = 0;
	unsigned sides = 0;

	for (unsigned j = 0; j < d; j++)
		if (t->high[j] > t->low[j]) {
			sum += log((double)t->high[j] - (double)t->low[j]);
			sides++;
		}
	return sides ? sum / sides : 0;
}

void tree_plant(struct tree *t, const void *x, size_t points, const struct stage *g)
{
	const unsigned parts = 1U << (t->levels = tree_levels(points));
	const size_t sample = (size_t)parts * SAMPLED;

	for (size_t i = 0; points && i < sample; i++) {
		read_point(t, x, g, points < sample ? i % points : share_begin(points, i, sample),
			   t->sample + i * g->d);
		t->order[i] = (uint32_t)i;
	}
	for (unsigned node = 1, nodes = 1; points && node < parts; node++) {
		const size_t n = sample / nodes, first = (node - nodes) * n;
		struct cut *c = &t->top[node];

		tree_enclose(t->sample, t->order, first, first + n, g->d, t->low, t->high);
		if (node == 1)
			t->whole = tree_log_of_sides(t, g->d);
		c->by = tree_widest(t->low, t->high, g->d);
		c->at = tree_halve(t, t->sample, first, first + n, first + n / 2, c->by, g->d);
		nodes = node + 1 == 2 * nodes ? 2 * nodes : nodes;
	}
}

unsigned tree_find_parts(struct tree *t, const struct share *s, const struct stage *g, float *rows,
			 uint32_t *part)
{
	const unsigned d = g->d, parts = 1U << t->levels;

	for (size_t i = 0; i < s->n; i += AT_ONCE) {
		const unsigned n = s->n - i < AT_ONCE ? (unsigned)(s->n - i) : AT_ONCE;
		float *const first = rows ? rows + i * d : t->sample;
		const float *row[AT_ONCE];
		unsigned node[AT_ONCE];

		for (unsigned q = 0; q < n; q++)
			read_point(t, s->x, g, i + q, first + (size_t)q * d);
		UNROLL for (unsigned q = 0; q < AT_ONCE; q++)
		{
			row[q] = first + (size_t)(q < n ? q : 0) * d;
			node[q] = 1;
		}
		for (unsigned level = 0; level < t->levels; level++)
			UNROLL for (unsigned q = 0; q < AT_ONCE; q++)
			{
				const struct cut *c = &t->top[node[q]];

				node[q] = 2 * node[q] + !(row[q][c->by] < c->at);
			}
		for (unsigned q = 0; q < n; q++)
			part[i + q] = node[q] - parts;
	}
	return parts;
}

/* ---- dealing ---- */

/* Where this worker's points of each part begin among all points: by part, then by worker. */
static void place(const struct share *s, unsigned parts, uint32_t *next)
{
	uint32_t before = 0;

	for (unsigned part = 0; part < parts; part++)
		for (unsigned i = 0; i < s->joint->workers; i++) {
			if (i == s->index)
				next[part] = before;
			before += s->joint->share[i].of_part[part];
		}
}

static size_t first_of(const struct share *s)
{
	return share_begin(s->joint->points, s->index, s->joint->workers);
}

/* share->place has the part of each point. Neighbouring parts have neighbouring numbers. */
static void deal_points(struct share *s, size_t row, unsigned parts)
{
	char *to = s->joint->row;
	uint32_t next[MOST_PARTS];

	memset(s->of_part, 0, parts * sizeof(*s->of_part));
	for (size_t i = 0; i < s->n; i++)
		s->of_part[s->place[i]]++;
	share_meet(s);
	place(s, parts, next);
	for (size_t i = 0; i < s->n; i++) {
		s->place[i] = next[s->place[i]]++;
		memcpy(to + s->place[i] * row, (const char *)s->x + i * row, row);
	}
	share_meet(s);
	s->x = to + first_of(s) * row;
	s->dealt = true;
}

bool deal_pays(const struct problem *p)
{
	/* places have 32 bits */
	return p->threads > 1 && p->iterations != 1 &&
	       share_size(p->all, 0, ranks_of(p->ranks)) <= UINT32_MAX;
}

size_t deal_bytes(const struct problem *p)
{
	struct carver c = { .memory = NULL };
	struct tree t;

	tree_lay_out(&t, &c, p->points.n, 0, p->points.d);
	return c.used;
}

void deal_by_place(struct share *s, const struct stage *g)
{
	struct carver c = { .memory = s->memory };
	struct tree t;

	tree_lay_out(&t, &c, s->joint->points, 0, g->d);
	tree_plant(&t, s->joint->share[0].x, s->joint->points, g);
	deal_points(s, g->d * real_bytes(g->real), tree_find_parts(&t, s, g, NULL, s->place));
}

void deal_labels(struct share *s)
{
	memcpy(s->joint->label + first_of(s), s->label, s->n * sizeof(*s->label));
	deal_labels_by_place(s);
}

void deal_labels_by_place(struct share *s)
{
	share_meet(s);
	for (size_t i = 0; i < s->n; i++)
		s->label[i] = s->joint->label[s->place[i]];
}
