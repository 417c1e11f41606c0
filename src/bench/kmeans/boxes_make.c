/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The boxes are the leaves of a tree (k-d: Bentley 1975), which halves the points where they are
 * spread most. Its top is made of a sample, and all points are dealt to its parts at once. Below,
 * halves are whole boxes.
 */
#include <math.h>
#include <string.h>

#include "bench/kmeans/boxes_state.h"
#include "bench/kmeans/distances.h"
#include "kit/random.h"
#include "kit/shares.h"
#include "kit/unroll.h"

enum { AT_ONCE = 4 }; /* points that go down the tree */

unsigned boxes_levels(size_t n)
{
	unsigned levels = 0;

	while (2 << levels <= PARTS && n >> levels >= (size_t)2 * LEAST_PART)
		levels++;
	return levels;
}

static void swap(struct boxes *x, size_t a, size_t b)
{
	const float key = x->key[a];
	const uint32_t order = x->order[a];

	x->key[a] = x->key[b];
	x->order[a] = x->order[b];
	x->key[b] = key;
	x->order[b] = order;
}

/* The median of three keys, drawn so that no order of points makes selection slow. */
static float draw_pivot(const struct boxes *x, size_t first, size_t n, uint64_t turn)
{
	float key[3];

	for (unsigned i = 0; i < 3; i++)
		key[i] = x->key[first + random_word(turn, i) % n];
	return larger_of(smaller_of(key[0], key[1]), smaller_of(larger_of(key[0], key[1]), key[2]));
}

/* Puts those of first..last-1 first whose key is less, or no greater. Returns where they end. */
static size_t put_first(struct boxes *x, size_t first, size_t last, float pivot, bool equal)
{
	size_t end = first;

	for (size_t i = first; i < last; i++) {
		const float key = x->key[i];

		swap(x, end, i);
		end += equal ? key <= pivot : key < pivot; /* no branch: keys are not foreseen */
	}
	return end;
}

/* Selection: afterwards none of first..middle-1 has a greater key than middle..last-1. */
static void part(struct boxes *x, size_t first, size_t last, size_t middle)
{
	for (uint64_t turn = last; last - first > 1; turn++) {
		const float pivot = draw_pivot(x, first, last - first, turn);
		const size_t less = put_first(x, first, last, pivot, false);

		if (middle < less) {
			last = less;
		} else if (less > first) {
			first = less;
		} else { /* the pivot is the least key */
			first = put_first(x, first, last, pivot, true);
			if (middle < first)
				return;
		}
	}
}

static unsigned widest_of(const float *low, const float *high, unsigned d)
{
	unsigned widest = 0;

	for (unsigned j = 1; j < d; j++)
		widest = high[j] - low[j] > high[widest] - low[widest] ? j : widest;
	return widest;
}

/* The box of the rows at places first..last-1 of `order`. */
static void enclose(const float *rows, const uint32_t *order, size_t first, size_t last, unsigned d,
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

/* Divides places first..last-1 at `middle`, by one dimension. Returns where it is cut. */
static float cut(struct boxes *x, const float *rows, size_t first, size_t last, size_t middle,
		 unsigned by, unsigned d)
{
	for (size_t i = first; i < last; i++)
		x->key[i] = rows[(size_t)x->order[i] * d + by];
	part(x, first, last, middle);
	return x->key[middle];
}

/* Makes row `to` of a point as given. */
static void read_point(struct boxes *x, const struct share *s, const struct stage *g, size_t point,
		       float *to)
{
	const char *given = (const char *)s->x + point * row_bytes(g);
	const uint32_t itself = 0;

	if (g->real == REAL_FLOAT) {
		x->rough.tiles->relate(to, given, g->origin, g->d);
		return;
	}
	x->rough.tiles->relate(x->exact, given, g->origin, g->d);
	x->rough.tiles->floats(to, x->exact, &itself, 1, g->d);
}

/* The mean logarithm of the sides of x->low and x->high, without those of no length. */
static double log_of_sides(const struct boxes *x, unsigned d)
{
	double sum = 0;
	unsigned sides = 0;

	for (unsigned j = 0; j < d; j++)
		if (x->high[j] > x->low[j]) {
			sum += log((double)x->high[j] - (double)x->low[j]);
			sides++;
		}
	return sides ? sum / sides : 0;
}

void boxes_plant(struct boxes *x, const struct share *s, const struct stage *g)
{
	const unsigned parts = 1U << boxes_levels(s->n);
	const size_t sample = (size_t)parts * SAMPLED;

	if (!s->n)
		return;
	for (size_t i = 0; i < sample; i++) {
		read_point(x, s, g, s->n < sample ? i % s->n : share_begin(s->n, i, sample),
			   x->block + i * g->d);
		x->order[i] = (uint32_t)i;
	}
	for (unsigned node = 1, nodes = 1; node < parts; node++) {
		const size_t n = sample / nodes, first = (node - nodes) * n;
		struct cut *c = &x->top[node];

		enclose(x->block, x->order, first, first + n, g->d, x->low, x->high);
		if (node == 1)
			x->whole = log_of_sides(x, g->d);
		c->by = widest_of(x->low, x->high, g->d);
		c->at = cut(x, x->block, first, first + n, first + n / 2, c->by, g->d);
		nodes = node + 1 == 2 * nodes ? 2 * nodes : nodes;
	}
}

/*
 * The sides of the part that the point was sampled of shrink below as they did down to it: by half
 * for each dimension of the space or, if points lie near a surface, of that. The extremes of a
 * sample are a little closer together than all.
 */
void boxes_guess(struct boxes *x, const struct share *s, const struct stage *g, size_t sampled,
		 const struct box *box)
{
	const unsigned levels = boxes_levels(s->n);
	const size_t first = sampled / SAMPLED * SAMPLED;
	const double wider = (double)(SAMPLED + 1) / (SAMPLED - 1),
		     left = log2((double)(s->n >> levels) / FULL);
	const float *point = x->block + (size_t)x->order[sampled] * g->d;
	double shrink;

	enclose(x->block, x->order, first, first + SAMPLED, g->d, x->low, x->high);
	shrink = levels ? (log_of_sides(x, g->d) + log(wider) - x->whole) / levels : -log(2) / g->d;
	memcpy(box->middle, point, g->d * sizeof(*point));
	for (unsigned j = 0; j < g->d; j++)
		box->extent[j] = (float)(((double)x->high[j] - (double)x->low[j]) / 2 * wider *
					 exp(fmin(shrink, 0) * left));
}

/* Makes rows of the points as given, and finds the part of the top that each lies in. */
static void find_parts(struct boxes *x, const struct share *s, const struct stage *g,
		       unsigned levels, float *rows, uint32_t *part)
{
	const unsigned d = g->d;

	for (size_t i = 0; i < s->n; i++)
		read_point(x, s, g, i, rows + i * d);
	for (size_t i = 0; i < s->n; i += AT_ONCE) {
		const float *row[AT_ONCE];
		unsigned node[AT_ONCE];

		UNROLL for (unsigned q = 0; q < AT_ONCE; q++)
		{
			row[q] = rows + (i + q < s->n ? i + q : i) * d;
			node[q] = 1;
		}
		for (unsigned level = 0; level < levels; level++)
			UNROLL for (unsigned q = 0; q < AT_ONCE; q++)
			{
				const struct cut *c = &x->top[node[q]];

				node[q] = 2 * node[q] + !(row[q][c->by] < c->at);
			}
		for (unsigned q = 0; q < AT_ONCE && i + q < s->n; q++)
			part[i + q] = node[q] - (1U << levels);
	}
}

void boxes_deal(struct boxes *x, struct share *s, const struct stage *g)
{
	const unsigned levels = boxes_levels(s->joint->points);

	find_parts(x, s, g, levels, x->block, s->place);
	deal_points(s, row_bytes(g), 1U << levels);
}

/* Orders the rows by the parts of the top; those of part i end before end[i]. */
static void sort_rows(struct boxes *x, const struct share *s, const struct stage *g, uint32_t *end)
{
	const unsigned levels = boxes_levels(s->n), d = g->d;
	const float *given = x->block;

	find_parts(x, s, g, levels, x->block, x->other);
	memset(end, 0, (1U << levels) * sizeof(*end));
	for (size_t i = 0; i < s->n; i++)
		end[x->other[i]]++;
	begin_each(end, 1U << levels);
	for (size_t i = 0; i < s->n; i++) {
		const uint32_t to = end[x->other[i]]++;

		x->points.point[to] = (uint32_t)i;
		for (unsigned j = 0; j < d; j++)
			x->row[(size_t)to * d + j] = given[i * d + j];
	}
}

/* Sets middle and extent. */
static void set_box(const struct box *b, const float *low, const float *high, unsigned d)
{
	for (unsigned j = 0; j < d; j++) {
		b->middle[j] = low[j] / 2 + high[j] / 2;
		b->extent[j] = larger_of(high[j] - b->middle[j], b->middle[j] - low[j]) * UPPER;
	}
}

/* Makes a box of n <= FULL places. */
static void make_box(struct boxes *x, const struct stage *g, uint32_t first, uint32_t n)
{
	const unsigned d = g->d, lanes = x->rough.floats->block;
	float *block = x->block + (size_t)x->boxes * FULL * d, *low = x->least, *high = x->most;
	struct box *b = &x->box[x->boxes++];

	b->first = first;
	b->n = n;
	enclose(x->row, x->order, first, first + n, d, low, high);
	set_box(b, low, high, d);
	for (unsigned i = 0; i < FULL; i++) {
		const float *row = x->row + (size_t)x->order[first + (i < n ? i : 0)] * d;

		for (unsigned j = 0; j < d; j++)
			block[i / lanes * lanes * d + j * lanes + i % lanes] = row[j];
	}
	for (unsigned j = 0; j < d; j++) {
		low[d + j] = smaller_of(low[d + j], low[j]);
		high[d + j] = larger_of(high[d + j], high[j]);
	}
}

static void begin_branch(struct boxes *x, const struct stage *g)
{
	x->branch[x->branches].first = x->boxes;
	for (unsigned j = g->d; j < 2 * g->d; j++) {
		x->least[j] = INFINITY;
		x->most[j] = -INFINITY;
	}
}

static void end_branch(struct boxes *x, const struct stage *g)
{
	struct box *b = &x->branch[x->branches++];

	b->n = x->boxes - b->first;
	set_box(b, x->least + g->d, x->most + g->d, g->d);
}

/* Divides places first..last-1 into boxes; `inner`: within a branch. */
static void divide(struct boxes *x, const struct stage *g, uint32_t first, uint32_t last,
		   bool inner)
{
	const uint32_t boxes = (last - first + FULL - 1) / FULL;
	const bool branch = !inner && boxes <= SIBLINGS;

	if (branch)
		begin_branch(x, g);
	if (boxes > 1) {
		const uint32_t middle = first + boxes / 2 * FULL;
		const unsigned by = widest_of(x->low, x->high, g->d);
		const float low = x->low[by], high = x->high[by],
			    at = cut(x, x->row, first, last, middle, by, g->d);

		x->high[by] = at;
		divide(x, g, first, middle, inner || branch);
		x->high[by] = high;
		x->low[by] = at;
		divide(x, g, middle, last, inner || branch);
		x->low[by] = low;
	} else {
		make_box(x, g, first, last - first);
	}
	if (branch)
		end_branch(x, g);
}

/* Points and labels in the order of the boxes. */
static void reorder(struct boxes *x, const struct share *s)
{
	uint32_t *point = x->points.point;

	for (size_t i = 0; i < s->n; i++)
		x->other[i] = point[x->order[i]];
	memcpy(point, x->other, s->n * sizeof(*point));
	sorted_follow(&x->points, s->n, x->other);
}

void boxes_make(struct boxes *x, struct share *s, const struct stage *g)
{
	uint32_t end[PARTS];

	s->filled = false; /* rows take the place of blocks */
	sort_rows(x, s, g, end);
	for (size_t i = 0; i < s->n; i++)
		x->order[i] = (uint32_t)i;
	x->boxes = x->branches = 0;
	for (unsigned i = 0, first = 0; i < 1U << boxes_levels(s->n); first = end[i++]) {
		enclose(x->row, x->order, first, end[i], g->d, x->low, x->high);
		if (end[i] > first)
			divide(x, g, first, end[i], false);
	}
	reorder(x, s);
	if (g->real == REAL_DOUBLE)
		sorted_rows(&x->points, s, g);
	x->points.done = true;
}
