/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pruning by bounds (Hamerly 2010; by groups of centres: Ding et al. 2015, with groups by
 * bisection, grouping.c). Each point has an upper bound of the distance to its centre, a lower
 * bound of the distance to any other, and a lower bound for each group. As centres move, bounds get
 * looser. While the first two don't cross, the label can't change, and nothing is computed.
 * Otherwise the distance to the point's centre is computed and, if they still cross, the scores of
 * its own group and of those that may be nearer.
 *
 * Points are processed in chunks, so that scores of the same group are computed together. A chunk
 * in which most points would need scores is left to brute force, which also makes new bounds; this
 * costs more than brute force alone. Where bounds cost very little to make, all chunks begin with
 * them, until they have lost a small part of an iteration. Else a few scouts do, ever more rarely,
 * as far as a purse allows: it gets a small part of what brute force costs. Once scouts show that
 * bounds will save more in later iterations than they cost to make, all chunks get them, still in
 * this one. The choice is by operation counts and assumed costs, not by a clock: the same points
 * always take the same path.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "bench/kmeans/bounds.h"
#include "bench/kmeans/bounds_make.h"
#include "bench/kmeans/brute.h"
#include "bench/kmeans/suspects.h"

enum {
	SCOUTS = 8,  /* chunks, at most */
	SPARSE = 64, /* at most one chunk in so many is a scout */
	FEW = 4,     /* groups: too few to be worth choosing their centres */
	/* the purse: one part in so many of an iteration by brute force at first, and with each */
	FIRST_PART = 8,
	EACH_PART = 64, /* bounds that are not proven may lose as much in an iteration */
	CHEAP = 16,	/* bounds that cost one part in so many of it are always made */
	MORE = 12,	/* iterations to come, at least, where no number is given: fewer are rare */
};

static bool fits(const struct problem *p)
{
	/* group numbers have 16 bits */
	return p->k / tiles_choose(p->points.real)->group < UINT16_MAX;
}

/*
 * With up to 4 iterations bounds don't pay, because centres still move far. With up to 30, they pay
 * only if a suspect costs less than twice brute force, because suspects become rare late.
 */
static bool pays(const struct problem *p)
{
	const struct tiles *t = tiles_choose(p->points.real);
	const struct costs c = costs_of(t, p->points.d, (p->k + t->group - 1) / t->group);

	return p->iterations == 0 || p->iterations > 30 ||
	       (p->iterations > 4 && 2 * c.all > c.suspect);
}

static size_t chunks_of(const struct bounds *b, size_t n)
{
	return (n + b->chunk - 1) / b->chunk;
}

/* Cycles for a point without bounds. */
static double force_cost(const struct bounds *b)
{
	return b->costs.all / (b->filters ? 2 : 1);
}

static bool chooses_groups(const struct bounds *b)
{
	return b->groups > FEW;
}

/*
 * The first iteration has no bounds: they would be of groups that change. Not so if another method
 * has done it.
 */
static unsigned waits(const struct bounds *b, const struct share *s)
{
	return chooses_groups(b) && !s->built;
}

static void build(struct share *s, const struct stage *g)
{
	struct bounds *b = s->memory;

	bounds_lay_out(b, s->n, g->d, g->k, g->real);
	b->filters = !g->forced && filter_pays(g->real, g->k);
	b->on = g->forced || CHEAP * b->costs.bound <= force_cost(b);
	b->proven = g->forced;
	b->purse = (double)s->n * force_cost(b) / FIRST_PART;
	b->scouted = false;
	b->apart = chunks_of(b, s->n) / SCOUTS > SPARSE ? chunks_of(b, s->n) / SCOUTS : SPARSE;
	labels_before(b->label, s);
	for (unsigned c = 0; c < g->k; c++)
		b->centre_at[c] = b->place[c] = c;
	b->grouped = false;
	if (g->real == REAL_DOUBLE)
		memset(b->middle, 0, g->d * sizeof(*b->middle));
	for (size_t c = 0; c < chunks_of(b, s->n); c++) {
		b->bounded[c] = false;
		b->filled[c] = s->filled && g->real == REAL_FLOAT;
		b->rounded[c] = s->filled && g->real == REAL_DOUBLE;
	}
	for (unsigned i = 0; i < b->groups; i++)
		b->drift[i] = 0;
}

/* Brute force on the points of a chunk, without bounds. */
static void force_chunk(struct bounds *b, struct share *s, const struct stage *g, size_t chunk,
			size_t first, size_t last)
{
	bounds_pack_plain(b, g);
	if (b->filters) {
		filter_force(&b->filter, b->label, s, g, first, last, !b->rounded[chunk]);
		b->rounded[chunk] = true;
		b->filters = !filter_loses(&b->filter, s->n);
		return;
	}
	brute_force(b->tiles, &b->plain, b->block, b->label, s, g, first, last, !b->filled[chunk]);
	b->filled[chunk] = true;
}

/* Adds the centres' moves to the drift of their groups. */
static struct moves follow(struct bounds *b, const struct stage *g)
{
	struct moves m = { 0, 0, 0 };

	for (unsigned i = 0; i < b->groups; i++) {
		double most = 0;

		for (unsigned at = i * b->tiles->group; at < (i + 1) * b->tiles->group && at < g->k;
		     at++) {
			const uint32_t c = b->centre_at[at];
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
		b->rise[i] = (float)b->drift[i] * LOWER;
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
	const double all = n * (force_cost(b) + cost->bound);
	unsigned measured = suspects_find(b, g, first, n, m), left = measured;
	size_t looks = 0;

	if (measured * cost->suspect <= all)
		looks = suspects_narrow(b, s, g, first, &left);
	if (measured * cost->suspect + (double)looks * cost->look > all) {
		bounds_make(b, s, g, first, n);
		return all + measured * cost->suspect;
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
 * Chooses groups of centres that are near each other, once: after the first iteration, since the
 * centres that it begins with may lie anywhere.
 */
static void choose_groups(struct bounds *b, const struct stage *g)
{
	grouping_order(g->centre, g->d, g->k, g->real, b->tiles->group, b->centre_at, b->along);
	for (unsigned at = 0; at < g->k; at++)
		b->place[b->centre_at[at]] = at;
	b->grouped = true;
}

static void pack_groups(struct bounds *b, const struct stage *g)
{
	const size_t real = real_bytes(g->real), row = g->d * real;

	for (unsigned at = 0; at < g->k; at++) {
		memcpy(b->rows + at * row, (const char *)g->centre + b->centre_at[at] * row, row);
		memcpy(b->halves + at * real, (const char *)g->half + b->centre_at[at] * real,
		       real);
	}
	b->tiles->pack(&b->centres, b->rows, b->halves, NULL);
}

/*
 * Iterations 0 to 5, 8 and 9, 16 and 17, ...: the first of a pair makes bounds, the next uses them.
 */
static bool time_for_scouts(uint64_t iteration)
{
	return __builtin_popcountll(iteration) <= 1 || __builtin_popcountll(iteration - 1) <= 1;
}

/* Whether scouts make bounds now, or use those that they made: a pair, if the purse has both. */
static bool sends_scouts(const struct bounds *b, const struct share *s, uint64_t iteration)
{
	const size_t most = (chunks_of(b, s->n) + b->apart - 1) / b->apart * b->chunk;
	const double points = (double)(most < s->n ? most : s->n),
		     choose = chooses_groups(b) && !b->grouped ? b->costs.choose * b->centres.k : 0;

	return b->scouted ||
	       (time_for_scouts(iteration) &&
		b->purse >= points * (2 * b->costs.bound + b->costs.suspect) + choose);
}

/* What chunks with bounds took in an iteration, in cycles. */
struct spending {
	double made;		 /* to make bounds */
	double spent, otherwise; /* with bounds, and what it would have been without */
};

static double lost(const struct spending *on)
{
	return on->made + fmax(on->spent - on->otherwise, 0);
}

/* Whether to use bounds for all points from now on. Those that have none get them at once. */
static bool pays_off(const struct bounds *b, const struct stage *g, const struct spending *on)
{
	const double given = (double)g->iterations - (double)g->iteration - 1,
		     rest = g->iterations ? given : fmax(MORE, (double)g->iteration),
		     saved = 1 - on->spent / on->otherwise;

	return saved > 0.1 && (b->on || saved * force_cost(b) * rest > b->costs.bound);
}

/* Assigns a chunk; `wanted`: with bounds, which are made if it has none. */
static void assign_chunk(struct bounds *b, struct share *s, const struct stage *g,
			 const struct moves *m, size_t chunk, bool wanted, struct spending *to)
{
	const size_t first = chunk * b->chunk;
	const unsigned n = (unsigned)(s->n - first < b->chunk ? s->n - first : b->chunk);

	if (wanted && b->bounded[chunk]) {
		to->spent += try_bounds(b, s, g, m, first, n);
		to->otherwise += n * force_cost(b);
	} else if (wanted) {
		bounds_make(b, s, g, first, n);
		to->made += n * b->costs.bound;
	} else {
		force_chunk(b, s, g, chunk, first, first + n);
	}
	b->bounded[chunk] = wanted;
}

static void assign(struct share *s, const struct stage *g)
{
	struct bounds *b = s->memory;
	const size_t chunks = chunks_of(b, s->n);
	const uint64_t age = g->iteration - s->built, begin = waits(b, s);
	const bool scouts = age >= begin && !b->on && sends_scouts(b, s, age - begin);
	const double part = (double)s->n * force_cost(b) / EACH_PART;
	bool wants = age >= begin && (b->on || scouts);
	struct moves m = { 0, 0, 0 };
	struct spending all = { 0, 0, 0 };

	b->plain_packed = b->rough_packed = false;
	if (wants) {
		if (chooses_groups(b) && !b->grouped) {
			choose_groups(b, g);
			b->purse -= b->costs.choose * g->k;
		}
		m = follow(b, g);
		pack_groups(b, g);
	}
	/* Scouts come first: what they save decides how the others are assigned. */
	for (size_t c = 0; scouts && c < chunks; c += b->apart)
		assign_chunk(b, s, g, &m, c, true, &all);
	b->scouted = scouts && all.made > 0;
	if (scouts) {
		b->purse -= lost(&all);
		wants = b->on = b->proven = all.otherwise > 0 && pays_off(b, g, &all);
	}
	for (size_t c = 0; c < chunks; c++) {
		if (scouts && c % b->apart == 0)
			continue;
		assign_chunk(b, s, g, &m, c, wants, &all);
		if (wants && !b->proven && all.spent - all.otherwise > part)
			wants = false;
	}
	b->filters &= filter_helps(&b->filter);
	if (!b->proven)
		b->purse += part - (scouts ? 0 : lost(&all));
	if (all.otherwise > 0 && all.made <= 0 && !scouts && !g->forced)
		b->on = b->proven = pays_off(b, g, &all);
}

static void labels(struct share *s, const struct stage *g)
{
	const struct bounds *b = s->memory;

	(void)g;
	memcpy(s->label, b->label, s->n * sizeof(*s->label));
}

const struct method method_bounds = { "bounds", 0,     fits,   pays,   bounds_bytes,
				      NULL,	build, assign, labels, NULL };
