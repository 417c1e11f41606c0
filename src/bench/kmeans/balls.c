/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pruning by balls of points (metric trees: Omohundro 1989; in k-means: Moore 2000). All points of
 * a ball are within its radius of its middle: so a centre that is farther from the middle than the
 * nearest one, by more than twice the radius, is nearest to none of them. Often one centre is left;
 * then all points have its label, and nothing is computed for any of them.
 *
 * The points of each label are a ball at first. One that too many centres are left for is divided.
 * If it has several in the end, the scores of these are computed for its points. Bounds of
 * distances, in each ball and where needed also for its points, tell how far centres may move
 * before they have to be looked at again.
 *
 * This pays where points lie in clumps that are small beside the distances of centres, or near a
 * surface of few dimensions, however many the points have. It needs nothing of an iteration before
 * but labels, so it prunes from the second one on. Where points fill their space, all centres are
 * left for all balls. So the balls of a few labels are tried first.
 */
#include <math.h>

#include "bench/kmeans/balls.h"
#include "bench/kmeans/balls_state.h"
#include "kit/shares.h"

enum {
	LEAST_POINTS = 16,  /* of a ball, on average; fewer for each centre don't pay */
	LEAST_CENTRES = 64, /* fewer don't pay */
	LABELS = 16,	    /* whose balls are tried, */
	SAMPLE = 256,	    /* with so many points of each */
};

/* Balls that cost more, as a share of brute force, don't pay: at first, and in each iteration. */
#define MOST_AT_FIRST 1.0
#define MOST_COST     0.2

static size_t most_balls(size_t n, unsigned k)
{
	return k + n / LEAST_POINTS;
}

static bool pays(const struct problem *p)
{
	return p->k >= LEAST_CENTRES && sorted_points(p) / LEAST_POINTS >= p->k;
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
	labels_before(x->points.label, s);
	for (unsigned i = 0; i < g->k; i++)
		x->zero[i] = 0;
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

static void assign(struct share *s, const struct stage *g)
{
	struct balls *x = s->memory;
	const float most = farthest_move(g);
	uint32_t before, next;

	if (x->points.done && most <= 0)
		return;
	rough_pack(&x->rough, g);
	if (g->iteration == 0) {
		rough_force(&x->rough, x->points.label, s, g);
		return;
	}
	if (!x->points.done)
		begin(x, s, g);
	before = next = x->balls;
	for (uint32_t i = 0; i < before; i++) {
		if (balls_follow(x, g, &x->ball[i], most))
			continue;
		balls_assign(x, s, g, &x->ball[i]);
		/* what it was divided into, while its rows are in the cache */
		for (; next < x->balls; next++)
			balls_assign(x, s, g, &x->ball[next]);
	}
	*s->change.computed += (int64_t)rough_computed(&x->rough, g);
}

/* Makes balls of some points of some labels. Returns how many points. */
static uint32_t take_sample(struct balls *x, const struct share *s, const struct stage *g)
{
	const unsigned labels = g->k < LABELS ? g->k : LABELS;
	const size_t most = s->n / labels < SAMPLE ? s->n / labels : SAMPLE,
		     looks = s->n / SAMPLE < g->k ? s->n : (size_t)SAMPLE * g->k;
	uint32_t *slot = x->listed, taken[LABELS] = { 0 }, n = 0;

	for (uint32_t c = 0; c < g->k; c++)
		slot[c] = LABELS;
	for (unsigned i = 0; i < labels; i++)
		slot[share_begin(g->k, i, labels)] = i;
	for (size_t i = 0; i < looks; i++) {
		const size_t point = share_begin(s->n, i, looks);
		const uint32_t at = slot[x->points.label[point]];

		if (at < LABELS && taken[at] < most)
			x->points.point[at * most + taken[at]++] = (uint32_t)point;
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

/* Whether balls cost little enough, in a sample: to divide once, and to look at each time. */
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

const struct method method_balls = { "balls", 0,     sorted_fits, pays,	  bytes,
				     NULL,    build, assign,	  labels, gives_up };
