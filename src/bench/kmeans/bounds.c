/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pruning by bounds (Hamerly 2010; by groups of centres: Ding et al. 2015, with consecutive centres
 * as groups). Each point has an upper bound of the distance to its centre, a lower bound of the
 * distance to any other, and a lower bound for each group. As centres move, bounds get looser.
 * While the first two don't cross, the label can't change, and nothing is computed. Otherwise the
 * distance to the point's centre is computed and, if they still cross, the scores of its own group
 * and of those that may be nearer.
 *
 * Points are processed in chunks, so that scores of the same group are computed together. A chunk
 * in which most points would need scores is left to brute force, which also makes new bounds; this
 * costs more than brute force alone. Where pruning saves too little, only one chunk in SCOUTS keeps
 * trying bounds, ever more rarely. The choice is by operation counts and assumed costs, not by a
 * clock: the same points always take the same path.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "bench/kmeans/bounds.h"
#include "bench/kmeans/bounds_state.h"
#include "bench/kmeans/brute.h"
#include "bench/kmeans/suspects.h"

enum { SCOUTS = 64 };

static bool fits(const struct problem *p)
{
	/* group numbers have 16 bits */
	return p->k / tiles_choose(p->points.real)->group < UINT16_MAX;
}

/*
 * With up to 3 iterations bounds don't pay, because centres still move far. With up to 30, they pay
 * only if a suspect costs less than twice brute force, because suspects become rare late.
 */
static bool pays(const struct problem *p)
{
	const struct tiles *t = tiles_choose(p->points.real);
	const struct costs c = costs_of(t, p->points.d, (p->k + t->group - 1) / t->group);

	return p->iterations == 0 || p->iterations > 30 ||
	       (p->iterations > 3 && 2 * c.all > c.suspect);
}

static void build(struct share *s, const struct stage *g)
{
	struct bounds *b = s->memory;

	bounds_lay_out(b, s->n, g->d, g->k, g->real);
	b->on = g->forced || 4 * b->costs.bound <= b->costs.all;
	labels_before(b->label, s);
	for (size_t c = 0; c * b->chunk < s->n; c++)
		b->bounded[c] = false;
	for (unsigned i = 0; i < b->groups; i++)
		b->drift[i] = 0;
}

/* Brute force on the chunk from point `first` on; makes new bounds. */
static void look_at_all(struct bounds *b, struct share *s, const struct stage *g, size_t first,
			unsigned points)
{
	const unsigned block = b->tiles->block;
	const size_t row = g->d * real_bytes(g->real), end = first + points;
	_Alignas(64) double score[MOST_BLOCK], second[MOST_BLOCK];
	uint32_t label[MOST_BLOCK];

	*s->change.computed += (int64_t)points * g->k;
	for (; first < end; first += block) {
		const size_t n = end - first < block ? end - first : block;
		char *x = b->block + first * row;
		float *group = b->group + first * b->groups;

		if (g->iteration == s->built)
			b->tiles->transpose(x, (const char *)s->x + first * row, g->origin, n,
					    g->d);
		b->tiles->nearest_two(x, &b->centres, label, score, b->best, second);
		b->tiles->lower(x, b->best, g->d, b->groups, 8 * g->slack, group,
				b->square + first);
		for (size_t i = 0; i < n; i++, group += b->groups) {
			const double least = real_get(g->real, score, i);
			const double next = real_get(g->real, second, i);
			float lower = INFINITY;

			b->upper[first + i] = upper_of(2 * least + b->square[first + i], g);
			group[label[i] / b->tiles->group] =
				lower_of(2 * next + b->square[first + i], g);
			for (unsigned e = 0; e < b->groups; e++) {
				lower = group[e] < lower ? group[e] : lower;
				group[e] = (group[e] + (float)b->drift[e]) * LOWER;
			}
			b->lower[first + i] = lower;
		}
		b->tiles->move(&s->change, x, g->scale, n, b->label + first, label);
	}
}

/* Adds the centres' moves to the drift of their groups. */
static struct moves follow(struct bounds *b, const struct stage *g)
{
	struct moves m = { 0, 0, 0 };

	for (unsigned i = 0; i < b->groups; i++) {
		double most = 0;

		for (unsigned c = i * b->tiles->group; c < (i + 1) * b->tiles->group && c < g->k;
		     c++) {
			const float moved = (float)g->moved[c] * UPPER;

			most = fmax(most, g->moved[c]);
			if (moved > m.most) {
				m.second = m.most;
				m.most = moved;
				m.which = c;
			} else if (moved > m.second) {
				m.second = moved;
			}
		}
		b->drift[i] += most * (1 + DBL_EPSILON);
		b->reach[i] = (float)b->drift[i] * UPPER;
	}
	return m;
}

/*
 * Assigns the points of a chunk that has bounds. Returns the cost in cycles, by the assumed costs.
 */
static double try_bounds(struct bounds *b, struct share *s, const struct stage *g,
			 const struct moves *m, size_t first, unsigned n)
{
	const struct costs *cost = &b->costs;
	const double all = n * cost->all;
	unsigned measured = suspects_find(b, g, first, n, m), left = measured;
	size_t looks = 0;

	if (measured * cost->suspect <= all)
		looks = suspects_narrow(b, s, g, first, &left);
	if (measured * cost->suspect + (double)looks * cost->look > all) {
		look_at_all(b, s, g, first, n);
		return all + n * cost->bound + measured * cost->suspect;
	}
	suspects_look(b, s, g, first);
	suspects_finish(b, s, g, first, left);
	/*
	 * one distance for each suspect; those left had it computed again, and counted, by
	 * suspects_look()
	 */
	*s->change.computed += measured - left;
	return measured * cost->suspect + (double)looks * cost->look;
}

/*
 * Iterations 0 to 5, 8 and 9, 16 and 17, ...: the first of a pair makes bounds, the next uses them.
 */
static bool time_for_scouts(uint64_t iteration)
{
	return __builtin_popcountll(iteration) <= 1 || __builtin_popcountll(iteration - 1) <= 1;
}

static void assign(struct share *s, const struct stage *g)
{
	struct bounds *b = s->memory;
	const struct moves m = follow(b, g);
	double spent = 0, otherwise = 0;

	b->tiles->pack(&b->centres, g->centre, g->half);
	for (size_t first = 0, c = 0; first < s->n; first += b->chunk, c++) {
		const unsigned n = (unsigned)(s->n - first < b->chunk ? s->n - first : b->chunk);
		const bool wanted =
			b->on || (c % SCOUTS == 0 && time_for_scouts(g->iteration - s->built));

		if (wanted && b->bounded[c]) {
			spent += try_bounds(b, s, g, &m, first, n);
			otherwise += n * b->costs.all;
		} else if (wanted) {
			look_at_all(b, s, g, first, n);
		} else {
			brute_force(b->tiles, &b->centres, b->block, b->label, s, g, first,
				    first + n);
		}
		b->bounded[c] = wanted;
	}
	if (otherwise > 0 && !g->forced)
		b->on = spent < 0.7 * otherwise;
}

static void labels(struct share *s, const struct stage *g)
{
	const struct bounds *b = s->memory;

	(void)g;
	memcpy(s->label, b->label, s->n * sizeof(*s->label));
}

const struct method method_bounds = { "bounds", fits, pays, bounds_bytes, build, assign, labels };
