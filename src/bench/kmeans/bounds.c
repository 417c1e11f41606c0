/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pruning by bounds (Hamerly 2010; by groups of centres: Ding et al. 2015, with groups as they
 * come). Of each point is known how far its centre is at most, how far all others are at least, and
 * how far those of each group are at least. Centres move, so bounds get worse; where a point's two
 * first ones still don't meet, its label is what it was, and nothing is computed. Else its distance
 * is measured, and then only groups that may be nearer are looked at, and its own one, of which the
 * score is needed.
 *
 * Points are taken in chunks. Of those that look at the same group, the scores are computed
 * together. A chunk of which most would be looked at is left to brute force, which leaves new
 * bounds. That costs more than brute force alone: where few points are left out, that is what it
 * comes to, and only one chunk in SCOUTS is tried further, ever more seldom. What pays is decided
 * by numbers of operations and what each is taken to cost, so without a clock: the same points
 * always take the same way.
 */
#include <float.h>
#include <math.h>

#include "bench/kmeans/brute.h"
#include "bench/kmeans/method.h"

enum { BLOCKS = 8, MOST_CHUNK = BLOCKS * MOST_BLOCK, SCOUTS = 64 };

/*
 * Cycles a point: to look at all centres, by brute force; to make bounds of that, too; to be a
 * suspect; and each group that it looks at then.
 */
struct costs {
	double all, bound, suspect, look;
};

/* Measured (Sapphire Rapids, AVX-512); elsewhere they differ, but not much in how they compare. */
static struct costs costs_of(const struct tiles *t, unsigned d, unsigned groups)
{
	const double vectors = (double)d * t->group / t->lanes; /* multiply-adds, for a group */

	return (struct costs){ 0.62 * vectors * groups, 10.0 * groups, 200 + groups + d,
			       60 + 1.5 * vectors };
}

/* A point that its bounds don't hold. */
struct suspect {
	/* scores: of the nearest centre, and in the same group */
	double least, second;
	uint32_t label;
	unsigned point; /* in the chunk */
};

/* What is at the start of a worker's memory. */
struct bounds {
	const struct tiles *tiles, *floats; /* of the points' type; of the bounds' */
	struct packed centres;
	unsigned chunk, groups;
	struct costs costs;
	bool on; /* all chunks, not only the scouts */
	char *block;
	uint32_t *label;
	bool *bounded; /* by chunk: bounds are known */
	/* by point: to its centre, to all others; as of the last look */
	float *upper, *lower;
	/* by point and group: to its centres but the point's; with `drift` added */
	float *group;
	double *square; /* by point: of its length */
	/* by group: how far a centre of it can have moved in all iterations */
	double *drift;
	/* Of the chunk that is worked on. */
	void *best;
	char *row;
	struct suspect *suspect;
	struct winner *winner;
	uint16_t *list; /* by group: suspects that look at it */
	unsigned *listed;
	uint16_t *near;
	float *reach; /* by group: the drift, rounded up */
};

static bool fits(const struct problem *p)
{
	/* groups have numbers of 16 bits */
	return p->k / tiles_choose(p->points.real)->group < UINT16_MAX;
}

/*
 * Not where to be a suspect takes twice as long as to look at all centres, unless there is time
 * until few are left to be suspected; nor in the few first iterations, when centres go far.
 */
static bool pays(const struct problem *p)
{
	const struct tiles *t = tiles_choose(p->points.real);
	const struct costs c = costs_of(t, p->points.d, (p->k + t->group - 1) / t->group);

	return p->iterations == 0 || p->iterations > 30 ||
	       (p->iterations > 3 && 2 * c.all > c.suspect);
}

/* From memory on, where all lies; NULL: to be counted only. Returns the bytes. */
static size_t place(struct bounds *b, char *memory, size_t n, unsigned d, unsigned k,
		    enum real real)
{
	const struct tiles *t = tiles_choose(real);
	const size_t groups = (k + t->group - 1) / t->group, chunk = (size_t)BLOCKS * t->block,
		     chunks = (n + chunk - 1) / chunk;
	size_t at = apart(sizeof(*b));
#define TAKE(bytes) (at += apart(bytes), memory ? (void *)(memory + at - apart(bytes)) : NULL)

	b->tiles = t;
	b->floats = tiles_choose(FLOAT);
	b->chunk = (unsigned)chunk;
	b->groups = (unsigned)groups;
	b->costs = costs_of(t, d, b->groups);
	b->centres = packed_at(TAKE(packed_bytes(d, k, real)), d, k, real);
	b->block = TAKE(chunks * chunk * d * real_bytes(real));
	b->label = TAKE(chunks * chunk * sizeof(*b->label));
	b->bounded = TAKE(chunks * sizeof(*b->bounded));
	b->upper = TAKE(chunks * chunk * sizeof(*b->upper));
	b->lower = TAKE(chunks * chunk * sizeof(*b->lower));
	b->group = TAKE(chunks * chunk * groups * sizeof(*b->group));
	b->drift = TAKE(groups * sizeof(*b->drift));
	b->best = TAKE(groups * t->block * real_bytes(real));
	b->square = TAKE(chunks * chunk * sizeof(*b->square));
	b->row = TAKE(chunk * d * real_bytes(real));
	b->suspect = TAKE(chunk * sizeof(*b->suspect));
	b->winner = TAKE(chunk * sizeof(*b->winner));
	b->list = TAKE(groups * chunk * sizeof(*b->list));
	b->listed = TAKE(groups * sizeof(*b->listed));
	b->near = TAKE((groups + 1) * sizeof(*b->near));
	b->reach = TAKE(groups * sizeof(*b->reach));
#undef TAKE
	return at;
}

static size_t bytes(size_t n, unsigned d, unsigned k, enum real real)
{
	struct bounds b;

	return place(&b, NULL, n, d, k, real);
}

static void build(struct share *s, const struct stage *g)
{
	struct bounds *b = s->memory;

	place(b, s->memory, s->n, g->d, g->k, g->real);
	b->on = g->forced || 4 * b->costs.bound <= b->costs.all;
	labels_before(b->label, s);
	for (size_t c = 0; c * b->chunk < s->n; c++)
		b->bounded[c] = false;
	for (unsigned i = 0; i < b->groups; i++)
		b->drift[i] = 0;
}

/*
 * Bounds of a distance from its square, and back from an upper one: what a lower one has to exceed,
 * so that no score of that centre is less.
 */
static float upper_of(double square, const struct stage *g)
{
	return (float)sqrt(fmax(square + 8 * g->slack, 0)) * UPPER;
}

static float lower_of(double square, const struct stage *g)
{
	return (float)sqrt(fmax(square - 8 * g->slack, 0)) * LOWER;
}

static float beyond(float upper, const struct stage *g)
{
	return (float)sqrt((double)upper * (double)upper + 8 * g->slack) * UPPER;
}

/* The chunk from point `first` on, by brute force, with new bounds. */
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

/* How far the centres of each group, and all but one, have moved at most. */
struct moves {
	float most, second;
	uint32_t which;
};

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

/* Those of a chunk that may have another label than before. All bounds follow the centres. */
static unsigned suspects(struct bounds *b, const struct stage *g, size_t first, unsigned n,
			 const struct moves *m)
{
	unsigned found = 0;

	for (unsigned i = 0; i < n; i++) {
		const uint32_t label = b->label[first + i];
		const float upper = (b->upper[first + i] + (float)g->moved[label]) * UPPER;
		const float lower =
			(b->lower[first + i] - (label == m->which ? m->second : m->most)) * LOWER;

		b->upper[first + i] = upper;
		b->lower[first + i] = lower;
		b->suspect[found].point = i;
		found += !(lower > 0 &&
			   (double)(lower - upper) * (double)(lower + upper) > 8 * g->slack);
	}
	return found;
}

/*
 * Lists the groups that may have a centre within the limit, and notes how far all centres but the
 * point's are at least.
 */
static unsigned near_groups(struct bounds *b, size_t point, float limit)
{
	double lower;
	const unsigned found = b->floats->near(b->group + point * b->groups, b->reach, b->groups,
					       (double)limit, b->near, &lower);

	b->lower[point] = (float)lower;
	return found;
}

/*
 * Measures the distance of each suspect to its centre, and keeps those that have to look further,
 * listed by group. Returns how often they look.
 */
static size_t narrow(struct bounds *b, struct share *s, const struct stage *g, size_t first,
		     unsigned *suspects)
{
	const size_t row = g->d * real_bytes(g->real);
	const unsigned all = *suspects;
	unsigned left = 0;
	size_t looks = 0;

	memset(b->listed, 0, b->groups * sizeof(*b->listed));
	for (unsigned i = 0; i < all; i++) {
		const size_t point = first + b->suspect[i].point;
		const uint32_t label = b->label[point], own = label / b->tiles->group;
		char *x = b->row + left * row;
		unsigned near;
		float limit;

		b->tiles->relate(x, (const char *)s->x + point * row, g->origin, g->d);
		b->upper[point] = upper_of(
			b->tiles->square(x, (const char *)g->centre + label * row, g->d), g);
		limit = beyond(b->upper[point], g);
		near = b->lower[point] > limit ? 0 : near_groups(b, point, limit);
		if (!near)
			continue;
		b->near[near] = (uint16_t)own;
		for (unsigned e = 0, owned = 0; e < near + !owned; e++) {
			owned |= b->near[e] == own;
			b->list[b->near[e] * b->chunk + b->listed[b->near[e]]++] = (uint16_t)left;
			looks++;
		}
		b->suspect[left++] =
			(struct suspect){ .point = b->suspect[i].point, .least = INFINITY };
	}
	*suspects = left;
	return looks;
}

static void note_bound(struct bounds *b, const struct stage *g, size_t point, unsigned group,
		       double score)
{
	b->group[point * b->groups + group] =
		(lower_of(2 * score + b->square[point], g) + (float)b->drift[group]) * LOWER;
}

/*
 * Each suspect's nearest centre of those groups that it looks at. They come in order, so of equal
 * scores the first one stays.
 */
static void look(struct bounds *b, struct share *s, const struct stage *g, size_t first)
{
	const unsigned size = b->tiles->group;

	for (unsigned e = 0; e < b->groups; e++) {
		const uint16_t *list = b->list + (size_t)e * b->chunk;

		b->tiles->of_group(b->row, list, b->listed[e], &b->centres, e, b->winner);
		*s->change.computed +=
			(int64_t)b->listed[e] * ((e + 1) * size < g->k ? size : g->k - e * size);
		for (unsigned i = 0; i < b->listed[e]; i++) {
			struct suspect *p = &b->suspect[list[i]];
			const struct winner *w = &b->winner[i];

			if (w->score < p->least) {
				if (p->least < INFINITY)
					note_bound(b, g, first + p->point, p->label / size,
						   p->least);
				p->least = w->score;
				p->second = w->second;
				p->label = w->label;
			} else {
				note_bound(b, g, first + p->point, e, w->score);
			}
		}
	}
}

/* What they found. */
static void settle(struct bounds *b, struct share *s, const struct stage *g, size_t first,
		   unsigned suspects)
{
	const size_t row = g->d * real_bytes(g->real);

	for (unsigned i = 0; i < suspects; i++) {
		const struct suspect *p = &b->suspect[i];
		const size_t point = first + p->point;
		const uint32_t label = b->label[point];
		const void *x = b->row + i * row;

		b->upper[point] = upper_of(2 * p->least + b->square[point], g);
		note_bound(b, g, point, p->label / b->tiles->group, p->second);
		near_groups(b, point, 0);
		if (p->label == label)
			continue;
		if (g->real == FLOAT)
			sums_move_float(&s->change, x, g->scale, label, p->label);
		else
			sums_move_double(&s->change, x, g->scale, label, p->label);
		b->label[point] = p->label;
	}
}

/* A chunk that has bounds. Returns what it cost. */
static double try_bounds(struct bounds *b, struct share *s, const struct stage *g,
			 const struct moves *m, size_t first, unsigned n)
{
	const struct costs *cost = &b->costs;
	const double all = n * cost->all;
	unsigned measured = suspects(b, g, first, n, m), left = measured;
	size_t looks = 0;

	if (measured * cost->suspect <= all)
		looks = narrow(b, s, g, first, &left);
	if (measured * cost->suspect + (double)looks * cost->look > all) {
		look_at_all(b, s, g, first, n);
		return all + n * cost->bound + measured * cost->suspect;
	}
	look(b, s, g, first);
	settle(b, s, g, first, left);
	*s->change.computed += measured - left; /* of those that are left it was computed again */
	return measured * cost->suspect + (double)looks * cost->look;
}

/* In iterations 0 to 5, 8 and 9, 16 and 17, ...: bounds are made in one and tried in the next. */
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

const struct method bounds = { "bounds", fits, pays, bytes, build, assign, labels };
