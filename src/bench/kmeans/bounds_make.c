/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "bench/kmeans/bounds_make.h"
#include "bench/kmeans/exact.h"

void bounds_pack_plain(struct bounds *b, const struct stage *g)
{
	if (b->plain_packed)
		return;
	b->plain_packed = true;
	if (b->filters)
		filter_begin(&b->filter, g); /* its centres are b->plain */
	else
		b->tiles->pack(&b->plain, g->centre, g->half, NULL);
}

/* Packs the centres by place, as floats, once an iteration; overwrites the filter's scratch. */
static void pack_rough(struct bounds *b, const struct stage *g)
{
	struct filter *f = &b->filter;

	if (b->rough_packed)
		return;
	b->rough_packed = true;
	for (size_t i = 0; i < (size_t)g->k * g->d; i++)
		f->value[i] = (float)((const double *)b->rows)[i];
	for (unsigned at = 0; at < g->k; at++)
		f->half[at] = (float)((const double *)b->halves)[at];
	f->floats->pack(&b->rough, f->value, f->half, NULL);
}

uint32_t bounds_settle(struct bounds *b, const struct share *s, const struct stage *g, size_t point,
		       float *upper)
{
	const size_t row = g->d * real_bytes(g->real);
	uint32_t now;

	bounds_pack_plain(b, g);
	now = exact_of_packed(s, g, (const char *)s->x + point * row, &b->plain, NULL);
	*upper = upper_of(
		b->tiles->square(s->scratch.row, (const char *)g->centre + now * row, g->d), g);
	return now;
}

/* By scores of the points' type. */
static void by_scores(struct bounds *b, struct share *s, const struct stage *g, size_t first,
		      unsigned points)
{
	bool *const filled = &b->filled[first / b->chunk];
	const unsigned block = b->tiles->block;
	const size_t row = g->d * real_bytes(g->real), end = first + points;
	_Alignas(64) double score[MOST_BLOCK], second[MOST_BLOCK];
	uint32_t label[MOST_BLOCK];

	*s->change.computed += (int64_t)points * g->k;
	for (; first < end; first += block) {
		const size_t n = end - first < block ? end - first : block;
		char *x = b->block + first * row;
		float *group = b->group + first * b->groups;

		if (!*filled)
			b->tiles->transpose(x, (const char *)s->x + first * row, g->origin, n,
					    g->d);
		b->tiles->nearest_two(x, &b->centres, label, score, b->best, second);
		b->tiles->lower(x, b->best, g->d, b->groups, 8 * g->slack, group,
				b->square + first);
		for (size_t i = 0; i < n; i++, group += b->groups) {
			const double least = real_get(g->real, score, i);
			const double next = real_get(g->real, second, i);
			const double square = b->square[first + i];
			const unsigned own = label[i] / b->tiles->group;
			float lower;

			b->upper[first + i] = upper_of(2 * least + square, g);
			label[i] = b->centre_at[label[i]];
			group[own] = (float)fmax(2 * next + square - 8 * g->slack, 0);
			lower = (float)b->floats->root(group, b->rise, b->groups);
			if (lower <= b->upper[first + i]) {
				label[i] = bounds_settle(b, s, g, first + i, &b->upper[first + i]);
				/* it may be another one of this group, or of another group */
				note_bound(b, g, first + i, own, least);
				lower = fminf(lower, lower_of(2 * least + square, g));
			}
			b->lower[first + i] = lower;
		}
		b->tiles->move(&s->change, x, g->scale, n, b->label + first, label);
	}
	*filled = true;
}

/* A point of a block, by scores in float. */
struct rough {
	double square;	     /* |x|^2 */
	float score, second; /* the least, and the second least of its group */
	const float *least;  /* by group: lower bounds of squared distances */
	uint32_t place;	     /* of the centre with the least score */
};

/*
 * Finds the label of a point from its scores in float, or, if they don't tell, exactly. Returns
 * whether they did. Scores bound the distance from above and below, by a margin for their errors.
 */
static bool decide_roughly(struct bounds *b, struct share *s, const struct stage *g, size_t point,
			   const struct rough *r, double margin)
{
	const unsigned own = r->place / b->tiles->group;
	const float others = (float)fmax(2 * (double)r->second + r->square - margin, 0);
	float *const bound = b->group + point * b->groups;
	uint32_t now = b->centre_at[r->place];
	float upper = upper_of(2 * (double)r->score + r->square + margin, g), lower;
	bool told;

	b->tiles->relate(b->row, (const double *)s->x + point * g->d, g->origin, g->d);
	b->square[point] = b->tiles->square(b->row, b->middle, g->d);
	memcpy(bound, r->least, b->groups * sizeof(*bound));
	bound[own] = others;
	lower = (float)b->floats->root(bound, b->rise, b->groups);
	told = lower > beyond(upper, g);
	if (!told) {
		/* the label may be of another group: that one's bound counts the label, too */
		bound[own] = (sqrtf(r->least[own]) * LOWER + (float)b->drift[own]) * LOWER;
		now = bounds_settle(b, s, g, point, &upper);
	}
	b->upper[point] = upper;
	b->lower[point] = lower;
	if (now != b->label[point])
		sums_move_double(&s->change, (const double *)b->row, g->scale, b->label[point],
				 now);
	b->label[point] = now;
	return told;
}

/* Of doubles by scores in float, of which a vector holds twice as many. */
static void by_floats(struct bounds *b, struct share *s, const struct stage *g, size_t first,
		      unsigned points)
{
	const struct tiles *t = b->floats;
	struct filter *f = &b->filter;
	bool *const rounded = &b->rounded[first / b->chunk];
	const size_t end = first + points;
	uint64_t undecided = 0;
	double margin;

	bounds_pack_plain(b, g);
	pack_rough(b, g);
	/* the square of a distance has two scores' errors, and that of |x|^2, which is smaller */
	margin = 2 * f->margin + 8 * g->slack;
	for (; first < end; first += t->block) {
		const unsigned n = (unsigned)(end - first < t->block ? end - first : t->block);
		const float *x = f->block + first * g->d;
		_Alignas(64) float score[MOST_BLOCK], second[MOST_BLOCK];
		double square[MOST_BLOCK];
		uint32_t place[MOST_BLOCK];

		if (!*rounded)
			filter_round(f, s, g, first, n);
		t->nearest_parts(x, &b->rough, place, score, b->best, second);
		t->lower(x, b->best, g->d, b->groups, margin, b->least, square);
		for (size_t i = 0; i < n; i++) {
			const struct rough r = { square[i], score[i], second[i],
						 b->least + i * b->groups, place[i] };

			undecided += !decide_roughly(b, s, g, first + i, &r, margin);
		}
	}
	*rounded = true;
	f->points += points;
	f->undecided += undecided;
	*s->change.computed += (int64_t)((points / 2 + undecided) * g->k);
}

void bounds_make(struct bounds *b, struct share *s, const struct stage *g, size_t first,
		 unsigned points)
{
	if (b->filters)
		by_floats(b, s, g, first, points);
	else
		by_scores(b, s, g, first, points);
}
