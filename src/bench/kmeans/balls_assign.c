/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "bench/kmeans/balls_state.h"
#include "bench/kmeans/exact.h"

/* Less is no room: rounding may hide it. */
static float least_room(const struct stage *g)
{
	return sqrtf((float)(8 * g->slack) * UPPER) * UPPER;
}

/* Each point loses room by the moves of its centre and of another; at first it has none. */
static void follow_points(struct balls *x, const struct stage *g, struct ball *b, float most)
{
	for (uint32_t i = b->first; i < b->first + b->n; i++) {
		const uint32_t point = x->order[i];
		const float moved = most + (float)g->moved[x->points.label[point]] * UPPER;

		x->room[point] = b->own ? (x->room[point] - moved) * LOWER : 0;
	}
	b->own = true;
}

bool balls_follow(struct balls *x, const struct stage *g, struct ball *b, float most)
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

/* A point's room: of the listed centres its own is `ahead` in score. */
static float room_of(const struct balls *x, const struct ball *b, float ahead)
{
	const float twice = 2 * (ahead - x->rough.error) * LOWER,
		    room = twice / (b->upper + sqrtf(b->upper * b->upper + twice)) * LOWER;

	return twice > 0 ? smaller_of(room, b->room) : 0;
}

/* Decides n points of x->other, which floats don't tell, by the scores of listed centres. */
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
	x->rough.exact += (uint64_t)n * centres;
}

/* Decides n open points of a ball, by the scores of listed centres, which are in their order. */
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

void balls_assign(struct balls *x, struct share *s, const struct stage *g, struct ball *b)
{
	uint32_t open = find_open(x, g, b);
	const uint32_t *listed = b->list;
	unsigned n = b->listed;

	if (!open || !may_change(b, g))
		return;
	if (!n) {
		n = balls_look(x, g, b);
		listed = x->listed;
		open = find_open(x, g, b); /* there are fewer if it was divided */
	}
	if (n > 1) {
		decide(x, s, g, b, open, listed, n);
		return;
	}
	for (uint32_t i = b->first; i < b->first + b->n; i++)
		sorted_assign(&x->points, s, g, x->order[i], *listed);
	b->own = false;
}
