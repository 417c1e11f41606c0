/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pruning by boxes of points (the filtering algorithm: Kanungo et al. 2002; Pelleg and Moore 1999).
 * A centre is nearest to no point of a box if the whole box is on the other side of the plane
 * between it and the centre that is nearest to the middle. Boxes are found once; in each iteration
 * centres are excluded for branches of boxes first, then for each box, and the rest is compared
 * with all its points at once.
 *
 * It needs nothing of an iteration before, not even labels. But boxes are small only in few
 * dimensions: halving their sides takes 2^d times as many.
 */
#include <math.h>
#include <string.h>

#include "kit/shares.h"
#include "solve/kmeans/boxes.h"

enum {
	LEAST_CENTRES = 32,
	LEAST_BOXES = 64,
	GUESSES = 64,	   /* boxes that are guessed, at most */
	GUESSED_BOXES = 8, /* one box in so many is guessed */
	MAKING = 4000,	   /* multiply-adds per point for putting it into a box */
	FOREVER = 10,	   /* assumed number of iterations, if they end when no label changes */
};

/*
 * Boxes pay below this share of brute force's time: at first, while balls may still be faster, as
 * with points in clumps; and after balls were tried. (Measured on a Zen 4, with blobs and others, 4
 * to 64 dimensions.)
 */
#define MOST_COST_FIRST	 0.32
#define MOST_COST_CLUMPS 0.2
#define MOST_COST	 0.5
/*
 * Points form clumps if the mean number of centres per box exceeds the harmonic mean this many
 * times: boxes within a clump have few centres, boxes between clumps have many.
 */
#define CLUMPS	      4
#define MOST_COMPUTED 0.75

static size_t most_boxes(size_t n)
{
	return n / FULL + MOST_PARTS;
}

static bool pays(const struct problem *p)
{
	return p->k >= LEAST_CENTRES && sorted_points(p) >= (size_t)LEAST_BOXES * FULL;
}

/* n: points of the share; `all`: points of the rank. */
static void lay_out(struct boxes *x, struct carver *c, size_t n, size_t all, unsigned d, unsigned k,
		    enum real real)
{
	const size_t row = d * sizeof(float);
	const size_t groups = round_up(k, tiles_choose(REAL_FLOAT)->group), most = most_boxes(n);
	float *corner;

	carve(c, sizeof(*x));
	rough_lay_out(&x->rough, c, n, d, k, real);
	x->row = x->rough.block; /* which is not needed once there are boxes */
	sorted_lay_out(&x->points, c, n, real == REAL_DOUBLE ? d : 0, real);
	x->tried = x->promised = false;
	x->boxes = x->branches = 0;
	x->box = carve(c, most * sizeof(*x->box));
	x->branch = carve(c, most * sizeof(*x->branch));
	corner = carve(c, 4 * most * row);
	for (size_t i = 0; c->memory && i < most; i++, corner += (size_t)4 * d) {
		x->box[i] = (struct box){ .middle = corner, .extent = corner + d };
		x->branch[i] = (struct box){ .middle = corner + (size_t)2 * d,
					     .extent = corner + (size_t)3 * d };
	}
	x->block = carve(c, most * FULL * row);
	tree_lay_out(&x->tree, c, all, n, d);
	x->other = carve(c, n * sizeof(*x->other));
	x->least = carve(c, 2 * row);
	x->most = carve(c, 2 * row);
	x->exact = carve(c, (size_t)tiles_choose(REAL_DOUBLE)->block * d * sizeof(*x->exact));
	x->score = carve(c, groups * sizeof(*x->score));
	x->found = carve(c, groups * sizeof(*x->found));
	x->near = carve(c, k * sizeof(*x->near));
	x->listed = carve(c, k * sizeof(*x->listed));
	x->list = packed_carve(c, d, k, REAL_FLOAT);
	x->words = round_up(k, 64) / 64;
	x->moved = carve(c, x->words * sizeof(*x->moved));
	x->before = carve(c, most * x->words * sizeof(*x->before));
}

static size_t bytes(const struct problem *p, size_t n)
{
	struct carver c = { .memory = NULL };
	struct boxes x;

	lay_out(&x, &c, n, p->points.n, p->points.d, p->k, p->points.real);
	return c.used;
}

static void build(struct share *s, const struct stage *g)
{
	struct carver c = { .memory = s->memory };
	struct boxes *x = s->memory;

	lay_out(x, &c, s->n, s->joint->points, g->d, g->k, g->real);
	share_labels_before(s, x->points.label);
}

/* ---- making boxes: the leaves of the tree; below its top, halves are whole boxes ---- */

/*
 * Orders the rows by the parts of the top; part i ends before end[i]. Returns the number of parts.
 */
static unsigned sort_rows(struct boxes *x, const struct share *s, const struct stage *g,
			  uint32_t *end)
{
	const unsigned d = g->d, parts = tree_find_parts(&x->tree, s, g, x->block, x->other);
	const float *given = x->block;

	memset(end, 0, parts * sizeof(*end));
	for (size_t i = 0; i < s->n; i++)
		end[x->other[i]]++;
	begin_each(end, parts);
	for (size_t i = 0; i < s->n; i++) {
		const uint32_t to = end[x->other[i]]++;

		x->points.point[to] = (uint32_t)i;
		for (unsigned j = 0; j < d; j++)
			x->row[(size_t)to * d + j] = given[i * d + j];
	}
	return parts;
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
	tree_enclose(x->row, x->tree.order, first, first + n, d, low, high);
	set_box(b, low, high, d);
	for (unsigned i = 0; i < FULL; i++) {
		const float *row = x->row + (size_t)x->tree.order[first + (i < n ? i : 0)] * d;

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
		const unsigned by = tree_widest(x->tree.low, x->tree.high, g->d);
		const float low = x->tree.low[by], high = x->tree.high[by],
			    at = tree_halve(&x->tree, x->row, first, last, middle, by, g->d);

		x->tree.high[by] = at;
		divide(x, g, first, middle, inner || branch);
		x->tree.high[by] = high;
		x->tree.low[by] = at;
		divide(x, g, middle, last, inner || branch);
		x->tree.low[by] = low;
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
		x->other[i] = point[x->tree.order[i]];
	memcpy(point, x->other, s->n * sizeof(*point));
	sorted_follow(&x->points, s->n, x->other);
}

static void make(struct boxes *x, struct share *s, const struct stage *g)
{
	struct tree *t = &x->tree;
	uint32_t end[MOST_PARTS];
	const unsigned parts = sort_rows(x, s, g, end);

	for (size_t i = 0; i < s->n; i++)
		t->order[i] = (uint32_t)i;
	x->boxes = x->branches = 0;
	for (unsigned i = 0, first = 0; i < parts; first = end[i++]) {
		tree_enclose(x->row, t->order, first, end[i], g->d, t->low, t->high);
		if (end[i] > first)
			divide(x, g, first, end[i], false);
	}
	reorder(x, s);
	if (g->real == REAL_DOUBLE)
		sorted_rows(&x->points, s, g);
	x->points.done = true;
	memset(x->before, 0, x->branches * x->words * sizeof(*x->before));
}

/* ---- examining boxes ---- */

/*
 * The margin is three times the rounding error of a difference of two scores: once for the middle's
 * difference, up to three quarters for the gain from there, and once for two scores of a point.
 */
static unsigned find_rivals(struct boxes *x, const struct box *b, const struct packed *centres)
{
	x->rough.scores += centres->k;
	return x->rough.floats->rivals(b->middle, b->extent, centres, 3 * (double)x->rough.error,
				       x->score, x->found);
}

/*
 * For doubles: decides listed rows that floats could not decide, among n listed centres, in double.
 * Lists the rows that are left, and returns their number.
 */
static unsigned decide_by_doubles(struct boxes *x, const struct stage *g, const char *rows,
				  unsigned *row, unsigned rest, unsigned n, uint32_t *now)
{
	const struct tiles *t = x->rough.tiles;
	unsigned left = 0;

	x->rough.distances += (uint64_t)rest * n;
	for (unsigned first = 0; first < rest; first += t->block) {
		const unsigned few = rest - first < t->block ? rest - first : t->block;
		uint32_t to[MOST_BLOCK];
		uint64_t told;

		for (unsigned i = 0; i < few; i++)
			for (unsigned j = 0; j < g->d; j++)
				x->exact[j * t->block + i] =
					((const double *)(rows + row[first + i] * row_bytes(g)))[j];
		told = t->nearest_listed(x->exact, g->centre, g->half, x->listed, n, g->d,
					 g->margin, to);
		for (unsigned i = 0; i < few; i++) {
			now[row[first + i]] = to[i];
			row[left] = row[first + i];
			left += !(told >> i & 1);
		}
	}
	return left;
}

/* Gives the points of a block new labels: n points, from `place` on; floats have decided some. */
static void move(struct boxes *x, struct share *s, const struct stage *g, const float *block,
		 uint32_t place, unsigned n, uint64_t told, unsigned centres, uint32_t *now)
{
	const bool narrow = g->real == REAL_FLOAT;
	const char *rows = x->points.row + (narrow ? 0 : place * row_bytes(g));
	uint32_t *label = x->points.label + place;
	unsigned row[MOST_BLOCK], rest = 0;

	for (uint64_t others = ~told & UINT64_MAX >> (64 - n); others; others &= others - 1)
		row[rest++] = (unsigned)__builtin_ctzll(others);
	if (!narrow)
		rest = decide_by_doubles(x, g, rows, row, rest, centres, now);
	for (unsigned i = 0; i < rest; i++)
		now[row[i]] = exact_nearest(g, sorted_given(&x->points, s, g, place + row[i]),
					    x->listed, centres);
	if (narrow)
		x->rough.floats->move(&s->change, block, g->scale, n, label, now);
	else
		x->rough.tiles->move_rows(&s->change, rows, g->scale, n, label, now);
}

/* Compares all points of a box with n listed centres. */
static void decide(struct boxes *x, struct share *s, const struct stage *g, const struct box *b,
		   unsigned n)
{
	const struct tiles *f = x->rough.floats;
	const float *block = x->block + (size_t)(b - x->box) * FULL * g->d;

	x->rough.scores += (uint64_t)n * b->n;
	for (unsigned i = 0; i < b->n; i += f->block, block += (size_t)f->block * g->d) {
		uint32_t now[MOST_BLOCK];
		const uint64_t told = f->nearest_listed(block, rough_values(&x->rough, g),
							rough_halves(&x->rough, g), x->listed, n,
							g->d, (double)x->rough.margin, now);

		move(x, s, g, block, b->first + i, b->n - i < f->block ? b->n - i : f->block, told,
		     n, now);
	}
}

static void set(uint64_t *bits, unsigned i)
{
	bits[i / 64] |= UINT64_C(1) << i % 64;
}

/*
 * Whether labels in a branch may change: not if none of its n centres has moved, nor one of the
 * centres that it had before. (Then the scores of all possible nearest centres are the same.)
 */
static bool may_change(const struct boxes *x, const struct box *branch, unsigned n)
{
	uint64_t *before = x->before + (size_t)(branch - x->branch) * x->words;
	bool moved = false;

	for (size_t w = 0; w < x->words; w++) {
		moved |= (before[w] & x->moved[w]) != 0;
		before[w] = 0;
	}
	for (unsigned i = 0; i < n; i++)
		set(before, x->found[i]);
	for (size_t w = 0; w < x->words; w++)
		moved |= (before[w] & x->moved[w]) != 0;
	return moved;
}

static void assign_branch(struct boxes *x, struct share *s, const struct stage *g,
			  const struct box *branch)
{
	const unsigned n = find_rivals(x, branch, &x->rough.centres);

	if (!may_change(x, branch, n))
		return;
	for (unsigned i = 0; i < n; i++)
		x->near[i] = x->found[i];
	rough_list(&x->rough, g, x->near, n, &x->list);
	for (uint32_t b = branch->first; b < branch->first + branch->n; b++) {
		const unsigned left = find_rivals(x, &x->box[b], &x->list);

		for (unsigned i = 0; i < left; i++)
			x->listed[i] = x->near[x->found[i]];
		decide(x, s, g, &x->box[b], left);
	}
}

/* ---- whether they pay ---- */

/*
 * Below the part from which the point was sampled, sides shrink as they did above it: by half for
 * each dimension of the space or, if points lie near a surface, of the surface. The extremes of a
 * sample are a little closer together than the extremes of all points.
 */
static void guess(struct boxes *x, size_t points, const struct stage *g, size_t sampled,
		  const struct box *box)
{
	struct tree *t = &x->tree;
	const unsigned levels = t->levels;
	const size_t first = sampled / SAMPLED * SAMPLED;
	const double wider = (double)(SAMPLED + 1) / (SAMPLED - 1),
		     left = log2((double)(points >> levels) / FULL);
	const float *point = t->sample + (size_t)t->order[sampled] * g->d;
	double shrink;

	tree_enclose(t->sample, t->order, first, first + SAMPLED, g->d, t->low, t->high);
	shrink = levels ? (tree_log_of_sides(t, g->d) + log(wider) - t->whole) / levels
			: -log(2) / g->d;
	memcpy(box->middle, point, g->d * sizeof(*point));
	for (unsigned j = 0; j < g->d; j++)
		box->extent[j] = (float)(((double)t->high[j] - (double)t->low[j]) / 2 * wider *
					 exp(fmin(shrink, 0) * left));
}

/*
 * Guesses some boxes of n points `from`, and finds whether boxes promise to take less time than
 * brute force. Excluding centres takes an eighth of brute force's time (measured, 2M x 8).
 */
static void guess_promise(struct boxes *x, const struct share *s, const struct stage *g,
			  const void *from, size_t n)
{
	const size_t sample = (size_t)SAMPLED << tree_levels(n), boxes = n / FULL / GUESSED_BOXES,
		     guesses = boxes < GUESSES ? boxes + 1 : GUESSES;
	const double left = g->iterations ? (double)(g->iterations - g->iteration) : FOREVER,
		     most = (s->built ? MOST_COST : MOST_COST_FIRST) * g->k;
	double cost = (double)g->k / 8, sum = 0, inverses = 0, rivals;
	bool clumps;

	tree_plant(&x->tree, from, n, g);
	if (n < sample || g->forced)
		return;
	for (size_t i = 0; i < guesses && cost < most; i++) {
		guess(x, n, g, share_begin(sample, i, guesses), x->box);
		rivals = find_rivals(x, x->box, &x->rough.centres);
		sum += rivals;
		inverses += 1 / rivals;
		cost += rivals / (double)guesses;
	}
	clumps = sum * inverses > CLUMPS * (double)guesses * (double)guesses;
	x->promised = cost < (clumps && !s->built ? MOST_COST_CLUMPS * g->k : most) &&
		      left * ((double)g->k - cost) * (g->d + 1.6) > MAKING;
}

/*
 * Makes the top, and finds the promise. In the first iteration all workers examine all points: with
 * its own points only, one could decide differently, and the others would wait for it.
 */
static void find_promise(struct boxes *x, const struct share *s, const struct stage *g)
{
	const bool together = s->dealt && !s->built;

	x->tried = true;
	if (together)
		guess_promise(x, s, g, s->joint->row, s->joint->points);
	else
		guess_promise(x, s, g, s->x, s->n);
	if (together && (x->promised || g->forced))
		tree_plant(&x->tree, s->x, s->n, g);
}

/* ---- the method ---- */

static void assign(struct share *s, const struct stage *g)
{
	struct boxes *x = s->memory;
	const bool made = !x->points.done; /* in this iteration */

	rough_pack(&x->rough, g);
	if (!x->tried)
		find_promise(x, s, g);
	if (!g->forced && !x->promised) {
		rough_force(&x->rough, x->points.label, s, g, true);
		return;
	}
	if (made)
		make(x, s, g);
	memset(x->moved, 0, x->words * sizeof(*x->moved));
	for (unsigned c = 0; c < g->k; c++)
		if (made || g->moved[c] > 0)
			set(x->moved, c);
	for (uint32_t i = 0; i < x->branches; i++)
		assign_branch(x, s, g, &x->branch[i]);
	*s->change.computed += (int64_t)rough_computed(&x->rough, g);
}

static bool gives_up(struct share *s, const struct stage *g)
{
	struct boxes *x = s->memory;

	if (x->points.done)
		return (double)rough_computed(&x->rough, g) > MOST_COMPUTED * (double)s->n * g->k;
	if (!x->tried) {
		rough_pack(&x->rough, g);
		find_promise(x, s, g);
	}
	return !x->promised;
}

static void labels(struct share *s, const struct stage *g)
{
	const struct boxes *x = s->memory;

	(void)g;
	sorted_labels(&x->points, s);
}

const struct method method_boxes = { .name = "boxes",
				     .fits = sorted_fits,
				     .pays = pays,
				     .bytes = bytes,
				     .build = build,
				     .assign = assign,
				     .labels = labels,
				     .gives_up = gives_up };
