/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "bench/kmeans/exponion_state.h"

void exponion_lay_out(struct exponion *x, struct carver *c, size_t n, unsigned d, unsigned k,
		      enum real real)
{
	const size_t groups = round_up(k, tiles_choose(REAL_FLOAT)->group);

	rough_lay_out(&x->rough, c, carve_begin(c, n, d), d, k, real);
	sorted_lay_out(&x->points, c, n, d, real);
	x->range = carve(c, n * sizeof(*x->range));
	x->around = carve(c, k * sizeof(*x->around));
	x->suspect = carve(c, n * sizeof(*x->suspect));
	x->order = carve(c, n * sizeof(*x->order));
	x->end = carve(c, k * sizeof(*x->end));
	x->score = carve(c, groups * sizeof(*x->score));
	x->found = carve(c, (k + 1) * sizeof(*x->found));
	x->listed = carve(c, k * sizeof(*x->listed));
	x->list = packed_carve(c, d, k, REAL_FLOAT);
	x->square = carve(c, BATCH * sizeof(*x->square));
	x->reach = carve(c, BATCH * sizeof(*x->reach));
	x->open = carve(c, BATCH * sizeof(*x->open));
	x->ordered = carve(c, BATCH * sizeof(*x->ordered));
	x->ring = carve(c, (k > BATCH ? k : BATCH) * sizeof(*x->ring));
	x->zero = carve(c, k * sizeof(*x->zero));
}

/*
 * The slack is of points' scores. A centre may lie farther from the origin than any point: then the
 * error of its score for another is up to three times as large.
 */
void exponion_pack(struct exponion *x, const struct stage *g)
{
	rough_pack(&x->rough, g);
	x->error = 3 * x->rough.error;
}

static void measure(struct exponion *x, const struct stage *g, uint32_t c)
{
	x->rough.floats->scores(rough_values(&x->rough, g) + (size_t)c * g->d,
				rough_packed(&x->rough), x->score);
}

/* The score that no centre within a distance from c exceeds. */
static float score_at(const struct exponion *x, const struct stage *g, uint32_t c, float distance)
{
	return (distance * distance / 2 + x->error) * UPPER - rough_halves(&x->rough, g)[c];
}

/* How far from its centre another one may be, at most, that is nearer to the point. */
static float reach_of(float upper, const struct stage *g)
{
	return (upper + beyond(upper, g)) * UPPER;
}

/* Lists the centres within a distance from c, but not c, in x->found; `gap`: to the nearest. */
static unsigned find_within(struct exponion *x, const struct stage *g, uint32_t c, float distance,
			    double *gap)
{
	const double half = (double)rough_halves(&x->rough, g)[c];
	const float limit = distance < INFINITY ? score_at(x, g, c, distance) : INFINITY;
	double least;
	unsigned found;

	x->score[c] = INFINITY;
	found = x->rough.floats->near(x->score, x->zero, g->k, (double)limit, x->found, &least);
	*gap = sqrt(fmax(2 * (least + half - (double)x->error), 0)) * (double)LOWER;
	return found;
}

unsigned exponion_rivals(struct exponion *x, const struct stage *g, uint32_t c, float upper)
{
	double gap;

	measure(x, g, c);
	return find_within(x, g, c, reach_of(upper, g), &gap);
}

/*
 * A point keeps its label if no centre is within its reach: (gap - upper)^2 > upper^2 + 8 * slack.
 */
void exponion_look_around(struct exponion *x, const struct stage *g)
{
	for (uint32_t c = 0; c < g->k; c++) {
		struct around *a = &x->around[c];
		unsigned found;
		double gap;

		measure(x, g, c);
		a->far = reach_of(a->most, g);
		found = find_within(x, g, c, a->far, &gap);
		a->safe = gap > 0 ? (float)(gap / 2 - 4 * g->slack / gap) * LOWER : 0;
		a->drop = 0;
		for (unsigned i = 0; i < found; i++)
			if (x->found[i] != c)
				a->drop = larger_of(a->drop, x->around[x->found[i]].moved);
	}
}

static unsigned ring_of(const struct rings *r, float score)
{
	const float at = (score - r->from) * r->scale;

	return at >= RINGS - 1 ? RINGS - 1 : at > 0 ? (unsigned)at : 0;
}

/* Packs the centres within a distance from c, c among them, by ring. */
static void list_centres(struct exponion *x, const struct stage *g, uint32_t c, float distance)
{
	struct rings *r = &x->rings;
	const float limit = score_at(x, g, c, distance);
	double least;
	unsigned found;

	r->from = x->score[c] = -rough_halves(&x->rough, g)[c];
	r->scale = (float)RINGS / (limit - r->from);
	found = x->rough.floats->near(x->score, x->zero, g->k, (double)limit, x->found, &least);
	memset(r->end, 0, sizeof(r->end));
	for (unsigned i = 0; i < found; i++) {
		x->ring[i] = (uint8_t)ring_of(r, x->score[x->found[i]]);
		r->end[x->ring[i]]++;
	}
	begin_each(r->end, RINGS);
	for (unsigned i = 0; i < found; i++)
		x->listed[r->end[x->ring[i]]++] = x->found[i];
	rough_list(&x->rough, g, x->listed, found, &x->list);
}

/* Orders the open points by the ring that their reach ends in. */
static void order_points(struct exponion *x, const struct stage *g, uint32_t c, unsigned n)
{
	uint32_t at[RINGS] = { 0 };

	for (unsigned i = 0; i < n; i++) {
		x->ring[i] = (uint8_t)ring_of(&x->rings, score_at(x, g, c, x->reach[i]));
		at[x->ring[i]]++;
	}
	begin_each(at, RINGS);
	for (unsigned i = 0; i < n; i++)
		x->ordered[at[x->ring[i]]++] = x->open[i];
}

/*
 * A lower bound of the distance to all centres but the nearest, which is within `upper`. `ahead`:
 * the second least score less the least.
 */
static float lower_bound(const struct exponion *x, const struct stage *g, float upper, float ahead)
{
	const float error = x->rough.error,
		    least = upper * upper * (LOWER * LOWER * LOWER) - 16 * (float)g->slack * UPPER,
		    square = least + 2 * (ahead - error) * (ahead > error ? LOWER : UPPER);

	return sqrtf(larger_of(square, 0)) * LOWER;
}

/* Decides a few points of label c, by the scores of the rings that their reach ends in. */
static void decide_few(struct exponion *x, struct share *s, const struct stage *g, uint32_t c,
		       const uint32_t *point, unsigned n)
{
	struct packed list;
	uint32_t to[FEW_ROWS];
	float ahead[FEW_ROWS], reach = 0;

	for (unsigned i = 0; i < n; i++)
		reach = larger_of(reach, reach_of(x->range[point[i]].upper, g));
	list = packed_first(&x->list, x->rough.floats,
			    x->rings.end[ring_of(&x->rings, score_at(x, g, c, reach))]);
	rough_nearest(&x->rough, x->points.row, point, n, &list, x->listed, to, ahead);
	for (unsigned i = 0; i < n; i++) {
		struct range *r = &x->range[point[i]];

		if (!(ahead[i] > 0))
			to[i] = rough_exact(&x->rough, s, g,
					    sorted_given(&x->points, s, g, point[i]));
		r->lower = ahead[i] > 0 && to[i] == c
				   ? smaller_of(lower_bound(x, g, r->upper, ahead[i]),
						reach - r->upper)
				   : 0;
		if (to[i] != c)
			sorted_assign(&x->points, s, g, point[i], to[i]);
	}
}

/* Decides those of a batch of points of label c that are not settled. */
static void decide_batch(struct exponion *x, struct share *s, const struct stage *g, uint32_t c,
			 unsigned n)
{
	float most = 0;

	for (unsigned i = 0; i < n; i++)
		most = larger_of(most, x->reach[i]);
	list_centres(x, g, c, most);
	order_points(x, g, c, n);
	for (unsigned i = 0; i < n; i += FEW_ROWS)
		decide_few(x, s, g, c, x->ordered + i, n - i < FEW_ROWS ? n - i : FEW_ROWS);
}

void exponion_decide(struct exponion *x, struct share *s, const struct stage *g, uint32_t c,
		     const uint32_t *list, size_t n)
{
	bool measured = false;

	for (size_t first = 0; first < n; first += BATCH) {
		const uint32_t *point = list + first;
		const unsigned most = n - first < BATCH ? (unsigned)(n - first) : BATCH;
		unsigned open = 0;

		x->rough.tiles->squares(x->points.row, point, most, centre_of(g, c), g->d,
					x->square);
		for (unsigned i = 0; i < most; i++) {
			struct range *r = &x->range[point[i]];

			r->upper = upper_of(x->square[i], g);
			x->reach[open] = reach_of(r->upper, g);
			x->open[open] = point[i];
			open += !is_settled(r, &x->around[c], g);
		}
		x->rough.exact += most;
		if (!open)
			continue;
		if (!measured)
			measure(x, g, c);
		measured = true;
		decide_batch(x, s, g, c, open);
	}
}
