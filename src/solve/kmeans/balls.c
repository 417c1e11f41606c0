/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pruning by balls of points (metric trees: Omohundro 1989; in k-means: Moore 2000). All points of
 * a ball are within its radius of its middle: so a centre that is farther from the middle than the
 * nearest one, by more than twice the radius, is nearest to none of them. Often one centre is left;
 * then all points have its label, and nothing is computed for any of them.
 *
 * The points of each label are a ball at first. A ball for which too many centres are left is
 * divided. If several are left in the end, their scores are computed for each of its points. Bounds
 * of distances, by ball and where needed by point, say how far centres may move before they must be
 * examined again.
 *
 * This pays where points form clumps much smaller than the distances between centres, or lie near a
 * surface of few dimensions. It needs only the labels of the previous iteration, so it prunes from
 * the second one on. Where points fill their space, no centre can be excluded: so the balls of a
 * few labels are tried first.
 */
#include <math.h>
#include <string.h>

#include "base/ranks.h"
#include "kit/shares.h"
#include "solve/kmeans/balls.h"

enum {
	/* least mean number of points of a ball, per rank and centre; fewer do not pay */
	LEAST_POINTS = 16,
	LEAST_CENTRES = 64, /* fewer don't pay */
	LABELS = 16,	    /* labels whose balls are tried, */
	SAMPLE = 256,	    /* with so many points of each */
};

/* The most that balls may cost, relative to brute force: to divide once, and in each iteration. */
#define MOST_AT_FIRST 2.0
#define MOST_COST     0.5

static size_t most_balls(size_t n, unsigned k)
{
	return k + n / LEAST_POINTS;
}

static bool pays(const struct problem *p)
{
	const size_t points = share_size(p->all, 0, ranks_of(p->ranks));

	return p->k >= LEAST_CENTRES && points / LEAST_POINTS >= p->k;
}

static size_t bytes(const struct problem *p, size_t n)
{
	struct carver c = { .memory = NULL };
	struct balls x;

	balls_lay_out(&x, &c, n, p->points.d, p->k, p->points.real, most_balls(n, p->k));
	return c.used;
}

static void build(struct share *s, const struct stage *g)
{
	struct carver c = { .memory = s->memory };
	struct balls *x = s->memory;

	balls_lay_out(x, &c, s->n, g->d, g->k, g->real, most_balls(s->n, g->k));
	share_labels_before(s, x->points.label);
}

/* Makes a ball of the points of each label. */
static void begin(struct balls *x, const struct share *s, const struct stage *g)
{
	uint32_t *end = x->listed;

	sorted_make(&x->points, s, g, end, x->other);
	for (size_t i = 0; i < s->n; i++)
		x->order[i] = (uint32_t)i;
	x->balls = 0;
	for (uint32_t c = 0, first = 0; c < g->k; first = end[c++])
		if (end[c] > first)
			balls_enclose(x, g, &x->ball[x->balls++], first, end[c] - first);
}

static float farthest_move(const struct stage *g)
{
	double most = 0;

	for (unsigned c = 0; c < g->k; c++)
		most = fmax(most, g->moved[c]);
	return (float)most * UPPER;
}

/* ---- an iteration ---- */

/* Less room than this counts as none, since rounding may hide it. */
static float least_room(const struct stage *g)
{
	return sqrtf((float)(8 * g->slack) * UPPER) * UPPER;
}

/* Reduces each point's room by the moves of its own centre and of another; a new point has none. */
static void follow_points(struct balls *x, const struct stage *g, struct ball *b, float most)
{
	for (uint32_t i = b->first; i < b->first + b->n; i++) {
		const uint32_t point = x->order[i];
		const float moved = most + (float)g->moved[x->points.label[point]] * UPPER;

		x->room[point] = b->own ? (x->room[point] - moved) * LOWER : 0;
	}
	b->own = true;
}

/*
 * Follows moves of the centres by at most `most`. Returns whether the ball's labels cannot change.
 */
static bool follow(struct balls *x, const struct stage *g, struct ball *b, float most)
{
	const float moved = (float)g->moved[b->nearest] * UPPER;

	b->upper = (b->upper + moved) * UPPER;
	b->room = (b->room - moved - most) * LOWER;
	if (!(b->room > least_room(g)))
		b->listed = 0;
	if (!b->own && b->listed == 1)
		return true;
	follow_points(x, g, b, most);
	return false;
}

/* Lists the points without room. Returns how many. */
static uint32_t find_open(struct balls *x, const struct stage *g, const struct ball *b)
{
	const float least = least_room(g);
	uint32_t found = 0;

	for (uint32_t i = b->first; i < b->first + b->n; i++) {
		x->open[found] = x->order[i];
		found += !(x->room[x->order[i]] > least);
	}
	return found;
}

/* A point's room, if its own centre's score is lower than all other listed ones by `ahead`. */
static float room_of(const struct balls *x, const struct ball *b, float ahead)
{
	const float twice = 2 * (ahead - x->rough.error) * LOWER,
		    room = twice / (b->upper + sqrtf(b->upper * b->upper + twice)) * LOWER;

	return twice > 0 ? smaller_of(room, b->room) : 0;
}

/* Decides n points of x->other, which floats could not decide, by the scores of listed centres. */
static void decide_exactly(struct balls *x, struct share *s, const struct stage *g, uint32_t n,
			   const uint32_t *listed, unsigned centres)
{
	const struct tiles *t = x->rough.tiles;

	if (!n)
		return;
	x->exact = packed_first(&x->exact, t, centres);
	t->pack(&x->exact, g->centre, g->half, listed);
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t point = x->other[i];

		sorted_assign(&x->points, s, g, point,
			      exact_of_packed(s, g, sorted_given(&x->points, s, g, point),
					      &x->exact, listed));
	}
	x->rough.distances += (uint64_t)n * centres;
}

/* Decides n open points of a ball, by the scores of listed centres, in the list's order. */
static void decide(struct balls *x, struct share *s, const struct stage *g, const struct ball *b,
		   uint32_t n, const uint32_t *listed, unsigned centres)
{
	uint32_t untold = 0;

	rough_list(&x->rough, g, listed, centres, &x->list);
	for (uint32_t i = 0; i < n; i += FEW_ROWS) {
		const unsigned few = n - i < FEW_ROWS ? n - i : FEW_ROWS;
		uint32_t to[FEW_ROWS];
		float ahead[FEW_ROWS];

		rough_nearest(&x->rough, x->points.row, x->open + i, few, &x->list, listed, to,
			      ahead);
		for (unsigned e = 0; e < few; e++) {
			const uint32_t point = x->open[i + e];

			x->room[point] = room_of(x, b, ahead[e]);
			if (ahead[e] > 0)
				sorted_assign(&x->points, s, g, point, to[e]);
			else
				x->other[untold++] = point;
		}
	}
	decide_exactly(x, s, g, untold, listed, centres);
}

/* Whether a listed centre has moved, or none is listed. */
static bool may_change(const struct ball *b, const struct stage *g)
{
	bool moved = !b->listed;

	for (unsigned i = 0; i < b->listed; i++)
		moved |= g->moved[b->list[i]] > 0;
	return moved;
}

/* Finds the labels of a ball's points. */
static void assign_ball(struct balls *x, struct share *s, const struct stage *g, struct ball *b)
{
	uint32_t open = find_open(x, g, b);
	const uint32_t *listed = b->list;
	unsigned n = b->listed;

	if (!open || !may_change(b, g))
		return;
	if (!n) {
		n = balls_look(x, g, b);
		listed = x->listed;
		open = find_open(x, g, b); /* if it was divided, there are fewer */
	}
	if (n > 1) {
		decide(x, s, g, b, open, listed, n);
		return;
	}
	for (uint32_t i = b->first; i < b->first + b->n; i++)
		sorted_assign(&x->points, s, g, x->order[i], *listed);
	b->own = false;
}

static void assign(struct share *s, const struct stage *g)
{
	struct balls *x = s->memory;
	const float most = farthest_move(g);
	uint32_t before, next;

	if (x->points.done && most <= 0)
		return;
	rough_pack(&x->rough, g);
	if (g->iteration == 0) {
		rough_force(&x->rough, x->points.label, s, g, true);
		return;
	}
	if (!x->points.done)
		begin(x, s, g);
	before = next = x->balls;
	for (uint32_t i = 0; i < before; i++) {
		if (follow(x, g, &x->ball[i], most))
			continue;
		assign_ball(x, s, g, &x->ball[i]);
		/* the parts into which it was divided, while its rows are in the cache */
		for (; next < x->balls; next++)
			assign_ball(x, s, g, &x->ball[next]);
	}
	*s->change.computed += (int64_t)rough_computed(&x->rough, g);
}

/*
 * Chooses labels that this worker has, evenly by their points: slot[c] is the label's number, or
 * LABELS if it is not chosen. Returns how many.
 */
static unsigned choose_labels(const struct balls *x, const struct share *s, const struct stage *g,
			      uint32_t *slot)
{
	unsigned chosen = 0;
	size_t seen = 0, next = s->n / LABELS / 2;

	memset(slot, 0, g->k * sizeof(*slot));
	for (size_t i = 0; i < s->n; i++)
		slot[x->points.label[i]]++;
	for (uint32_t c = 0; c < g->k; c++) {
		seen += slot[c];
		slot[c] = LABELS;
		if (chosen == LABELS || seen <= next)
			continue;
		slot[c] = chosen++;
		while (next < seen)
			next += s->n / LABELS + 1;
	}
	return chosen;
}

/* Makes balls of some points of some labels. Returns the number of points. */
static uint32_t take_sample(struct balls *x, const struct share *s, const struct stage *g)
{
	const size_t most = s->n / LABELS < SAMPLE ? s->n / LABELS : SAMPLE;
	uint32_t *slot = x->listed, taken[LABELS] = { 0 }, n = 0;
	const unsigned labels = choose_labels(x, s, g, slot);

	for (size_t i = 0; i < s->n; i++) {
		const uint32_t at = slot[x->points.label[i]];

		if (at < LABELS && taken[at] < most)
			x->points.point[at * most + taken[at]++] = (uint32_t)i;
	}
	x->balls = 0;
	for (unsigned i = 0; i < labels; i++) {
		const uint32_t first = n;

		for (uint32_t e = 0; e < taken[i]; e++, n++) {
			sorted_relate(&x->points, x->rough.tiles, s, g, n,
				      x->points.point[i * most + e]);
			x->order[n] = n;
		}
		if (taken[i])
			balls_enclose(x, g, &x->ball[x->balls++], first, taken[i]);
	}
	return n;
}

/* Whether, in a sample, balls cost little to divide once, and to check in each iteration. */
static bool promises(struct balls *x, const struct share *s, const struct stage *g)
{
	const double all = (double)take_sample(x, s, g) * g->k, most = all * MOST_COST;
	double each = 0;

	x->cost = 0;
	for (uint32_t i = 0; i < x->balls && each <= most && x->cost <= MOST_AT_FIRST * all; i++) {
		const unsigned n = balls_look(x, g, &x->ball[i]);

		each += (double)MIDDLE * g->k + (double)x->ball[i].n * (double)balls_cost(x, n);
	}
	return each <= most && x->cost <= MOST_AT_FIRST * all;
}

static bool gives_up(struct share *s, const struct stage *g)
{
	struct balls *x = s->memory;

	if (x->points.done)
		return (double)rough_computed(&x->rough, g) > MOST_COST * (double)s->n * g->k;
	if (!rough_helps(&x->rough))
		return true;
	rough_pack(&x->rough, g);
	return !promises(x, s, g);
}

static void labels(struct share *s, const struct stage *g)
{
	const struct balls *x = s->memory;

	(void)g;
	sorted_labels(&x->points, s);
}

const struct method method_balls = { .name = "balls",
				     .fits = sorted_fits,
				     .pays = pays,
				     .bytes = bytes,
				     .build = build,
				     .assign = assign,
				     .labels = labels,
				     .gives_up = gives_up };
