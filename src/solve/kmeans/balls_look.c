/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds on centres from a ball, and the ball's division (balls.c). */
#include <math.h>
#include <string.h>

#include "solve/kmeans/balls.h"

enum {
	DIVIDE = 50, /* cost of dividing per point, in scores of brute force */
	/*
	 * number of values in a ball: with fewer, computing its scores takes less time than planes
	 */
	PLANES = 1024,
	WIDTH = 8, /* room that a list leaves: the diameter divided by this */
};

void balls_lay_out(struct balls *x, struct carver *c, size_t n, unsigned d, unsigned k,
		   enum real real, size_t most)
{
	const size_t groups = round_up(k, tiles_choose(REAL_FLOAT)->group);

	carve(c, sizeof(*x));
	rough_lay_out(&x->rough, c, n, d, k, real);
	sorted_lay_out(&x->points, c, n, d, real);
	x->balls = 0;
	x->most = (uint32_t)most;
	x->room = carve(c, n * sizeof(*x->room));
	x->order = carve(c, n * sizeof(*x->order));
	x->ball = carve(c, most * sizeof(*x->ball));
	x->middle = carve(c, most * d * real_bytes(real));
	x->square = carve(c, n * sizeof(*x->square));
	x->few = carve(c, d * sizeof(*x->few));
	x->score = carve(c, groups * sizeof(*x->score));
	x->found = carve(c, (k + 1) * sizeof(*x->found));
	x->listed = carve(c, k * sizeof(*x->listed));
	x->ahead = carve(c, k * sizeof(*x->ahead));
	x->open = carve(c, (n + 1) * sizeof(*x->open));
	x->other = carve(c, (n + 1) * sizeof(*x->other));
	x->list = packed_carve(c, d, k, REAL_FLOAT);
	x->exact = real == REAL_FLOAT ? x->list : packed_carve(c, d, k, real);
}

static char *middle_of(const struct balls *x, const struct stage *g, const struct ball *b)
{
	return x->middle + (size_t)(b - x->ball) * row_bytes(g);
}

/* Measures the distances of a ball's points from something. Returns the place of the farthest. */
static uint32_t measure(struct balls *x, const struct stage *g, const struct ball *b,
			const void *from)
{
	uint32_t farthest = 0;

	x->rough.tiles->squares(x->points.row, x->order + b->first, b->n, from, g->d, x->square);
	for (uint32_t i = 1; i < b->n; i++)
		farthest = x->square[i] > x->square[farthest] ? i : farthest;
	return farthest;
}

void balls_enclose(struct balls *x, const struct stage *g, struct ball *b, uint32_t first,
		   uint32_t n)
{
	char *middle = middle_of(x, g, b);

	*b = (struct ball){ .first = first, .n = n };
	x->rough.tiles->total(middle, x->points.row, x->order + first, n, g->d);
	for (unsigned j = 0; j < g->d; j++)
		real_set(g->real, middle, j,
			 (double)(float)(real_get(g->real, middle, j) / (double)n));
	b->radius = upper_of(x->square[measure(x, g, b, middle)], g);
}

/*
 * Divides the points by the nearer of two distant points: the farthest from the middle, and the
 * farthest from that one. Returns whether there are two.
 */
static bool divide(struct balls *x, const struct stage *g, struct ball *b)
{
	const struct ball whole = *b;
	uint32_t *order = x->order + b->first, kept = 0, others = 0;
	const char *one, *two;

	if (x->balls == x->most)
		return false;
	one = x->points.row + order[measure(x, g, b, middle_of(x, g, b))] * row_bytes(g);
	two = x->points.row + order[measure(x, g, b, one)] * row_bytes(g);
	x->cost += (double)DIVIDE * b->n;
	for (uint32_t i = 0; i < whole.n; i++) {
		const uint32_t point = order[i];
		const bool stays =
			x->square[i] <=
			x->rough.tiles->square(x->points.row + point * row_bytes(g), two, g->d);

		order[kept] = x->other[others] = point;
		kept += stays;
		others += !stays;
	}
	memcpy(order + kept, x->other, others * sizeof(*order));
	if (!kept || !others)
		return false;
	balls_enclose(x, g, b, whole.first, kept);
	balls_enclose(x, g, &x->ball[x->balls++], whole.first + kept, others);
	b->own = x->ball[x->balls - 1].own = whole.own;
	return true;
}

/* The nearest centre c of a ball's middle m, and bounds for the others. */
struct view {
	double score;	      /* the least */
	double square, upper; /* at most |m - c|^2 and |m - c| */
	double diameter;      /* 2 r, twice the radius */
	double width;	      /* centres that leave more room than this are not listed */
	double limit;	      /* nor are centres with a score beyond this */
	double error;	      /* largest error of the difference of two scores */
	double tie;	      /* largest difference of distances that a tie of scores may hide */
};

/* Upper bound of the scores of centres at this distance from the middle. */
static double score_at(const struct view *v, const struct stage *g, double distance)
{
	const double score = v->score + (distance * distance - v->square) / 2 * (double)UPPER +
			     8 * g->slack + v->error;

	return score + fabs(score) * 0x1p-20;
}

static double least_of(const struct balls *x, const struct stage *g, uint16_t *found, double limit)
{
	double least;

	x->rough.floats->near(x->score, g->k, limit, found, &least);
	return least;
}

/* Computes all scores of the middle. */
static struct view view_of(struct balls *x, const struct stage *g, struct ball *b)
{
	const uint32_t itself = 0;
	const char *middle = middle_of(x, g, b);
	struct view v;

	x->rough.tiles->floats(x->few, middle, &itself, 1, g->d);
	x->rough.floats->scores(x->few, &x->rough.centres, x->score);
	v.score = least_of(x, g, x->found, -INFINITY);
	least_of(x, g, x->found, v.score);
	b->nearest = x->found[0];
	x->rough.scores += g->k;
	x->cost += (double)MIDDLE * g->k;

	v.square = x->rough.tiles->square(middle, centre_of(g, b->nearest), g->d) + 8 * g->slack;
	v.upper = sqrt(v.square) * (double)UPPER;
	v.diameter = 2 * (double)b->radius;
	v.width = v.diameter / WIDTH;
	v.error = (double)x->rough.error;
	v.tie = 2 * sqrt(g->slack);
	v.limit = score_at(&v, g, v.upper + v.diameter + v.width);
	b->upper = beyond((float)v.upper * UPPER + b->radius, g);
	return v;
}

/*
 * Lists the centres e with |m - e| <= |m - c| + 2 r: all others are farther than c from every point
 * of the ball. Unless only c is left, centres a little farther are listed, too, so that the rest
 * leaves some room. Returns how many.
 */
static unsigned list_near(struct balls *x, const struct stage *g, struct ball *b,
			  const struct view *v)
{
	const double narrow = score_at(v, g, v->upper + v->diameter);
	double ahead;
	unsigned near = x->rough.floats->near(x->score, g->k, v->limit, x->found, &ahead),
		 within = 0;

	for (unsigned i = 0; i < near; i++)
		within += (double)x->score[x->found[i]] <= narrow;
	if (within == 1) {
		x->found[0] = (uint16_t)b->nearest;
		near = 1;
	}
	for (unsigned i = 0; i < near; i++) {
		x->listed[i] = x->found[i];
		x->ahead[i] = x->score[x->found[i]] - (float)v->score;
		x->score[x->found[i]] = INFINITY;
	}
	ahead = fmax(least_of(x, g, x->found, -INFINITY) - v->score - v->error, 0);
	b->room = (float)(sqrt(v->square + 2 * ahead * (double)LOWER) - v->upper - v->diameter -
			  v->tie) *
		  LOWER;
	return near;
}

/*
 * Excludes more of n listed centres: those e for which no point is on e's side of the plane between
 * c and e, as |m - e|^2 - |m - c|^2 > 2 r |c - e|. The room is the difference of both sides over
 * the sum of a point's distances. Returns how many stay.
 */
static unsigned leave_out(struct balls *x, const struct stage *g, struct ball *b,
			  const struct view *v, unsigned n)
{
	const char *nearest = centre_of(g, b->nearest);
	const double far = v->square + 2 * (v->limit - v->score + v->error),
		     sum = sqrt(far) * (double)UPPER + v->upper + v->diameter;
	double least = INFINITY;
	unsigned left = 0;

	for (unsigned i = 0; i < n; i++) {
		const uint32_t e = x->listed[i];
		const float apart =
			upper_of(x->rough.tiles->square(centre_of(g, e), nearest, g->d), g);
		const double ahead = 2 * ((double)x->ahead[i] - v->error) * (double)LOWER,
			     over = ahead - v->diameter * (double)apart - 8 * g->slack;
		const bool stays = e == b->nearest || over <= v->width * sum;

		x->listed[left] = e;
		left += stays;
		least = stays ? least : fmin(least, over);
	}
	b->room = smaller_of(b->room, (float)(least / sum - v->tie) * LOWER);
	return left;
}

size_t balls_cost(const struct balls *x, unsigned n)
{
	return n > 1 ? round_up(n, x->rough.floats->group) : 0;
}

unsigned balls_look(struct balls *x, const struct stage *g, struct ball *b)
{
	struct view v = view_of(x, g, b);
	unsigned n = list_near(x, g, b, &v);

	while (n > x->rough.floats->group && b->n * balls_cost(x, n) > (size_t)2 * MIDDLE * g->k &&
	       divide(x, g, b)) {
		v = view_of(x, g, b);
		n = list_near(x, g, b, &v);
	}
	if (n > 1 && (size_t)b->n * g->d > PLANES)
		n = leave_out(x, g, b, &v, n);
	b->listed = n <= LISTED ? n : 0;
	memcpy(b->list, x->listed, b->listed * sizeof(*b->list));
	return n;
}
