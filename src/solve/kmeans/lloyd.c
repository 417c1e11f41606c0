/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of methods, and the iterations around them. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/ranks.h"
#include "kit/shares.h"
#include "solve/kmeans/order.h"
#include "solve/kmeans/tiles.h"
#include "solve/kmeans/workspace.h"

struct lloyd {
	struct problem problem;
	struct choice choice;
	struct workspace space;
};

/* ---- the choice ---- */

/* PRUNE_AUTO tries them in this order, and boxes once more if balls do not pay. */
static const struct {
	const struct method *method;
	enum prune prune; /* the option that forces it */
} methods[] = {
	{ &method_cells, PRUNE_CELLS }, { &method_boxes, PRUNE_BOXES },
	{ &method_balls, PRUNE_BALLS }, { &method_boxes, PRUNE_BOXES },
	{ &method_brute, PRUNE_NONE },
};
_Static_assert(LENGTH(methods) <= MOST_METHODS, "struct choice has room for all methods");

static bool is_wanted(const struct method *m, enum prune own, const struct problem *p,
		      enum prune prune)
{
	return (prune == PRUNE_AUTO ? !m->pays || m->pays(p) : prune == own) &&
	       (!m->fits || m->fits(p));
}

/* Whether the rank with the most points has room, so that all ranks choose alike. */
static bool has_room(const struct problem *p, const struct choice *choice)
{
	struct problem largest = *p;

	largest.points.n = share_size(p->all, 0, ranks_of(p->ranks));
	return !p->room || workspace_bytes(&largest, choice) <= p->room;
}

static void note_joint(const struct problem *p, struct choice *c)
{
	const struct method *first = c->method[0];

	c->deals = (first == &method_boxes || first == &method_balls) && deal_pays(p);
	c->joint = c->deals || first == &method_cells;
}

/*
 * Auto skips methods that need more memory than there is, but not the last one: if that does not
 * fit, the planner refuses the trial.
 */
struct choice choice_make(const struct problem *p, enum prune prune)
{
	struct choice choice = { { NULL } };

	for (unsigned i = 0, n = 0; i < LENGTH(methods); i++) {
		const struct method *m = methods[i].method;

		if (!is_wanted(m, methods[i].prune, p, prune) || (prune != PRUNE_AUTO && n))
			continue;
		choice.method[n] = m;
		note_joint(p, &choice);
		if (prune != PRUNE_AUTO || !m->pays || has_room(p, &choice))
			n++;
		else
			choice.method[n] = NULL;
	}
	note_joint(p, &choice);
	return choice;
}

/* ---- its life ---- */

size_t lloyd_bytes(const struct problem *p, enum prune prune)
{
	const struct choice choice = choice_make(p, prune);

	return choice.method[0] ? workspace_bytes(p, &choice) : 0;
}

struct lloyd *lloyd_open(const struct problem *p, enum prune prune,
			 const struct lloyd_memory *memory)
{
	struct lloyd *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->problem = *p;
	l->choice = choice_make(p, prune);
	if (!l->choice.method[0])
		errno = EINVAL;
	if (!l->choice.method[0] || workspace_open(&l->space, p, &l->choice, memory)) {
		lloyd_close(l);
		return NULL;
	}
	l->space.frame.stage.forced = prune != PRUNE_AUTO;
	return l;
}

void lloyd_close(struct lloyd *l)
{
	const int error = errno;

	if (!l)
		return;
	workspace_close(&l->space);
	free(l);
	errno = error;
}

const struct solution *lloyd_solution(const struct lloyd *l)
{
	return &l->space.solution;
}

void lloyd_enter(struct lloyd *l, struct worker *w)
{
	workspace_enter(&l->space, w->index);
}

/* ---- the start ---- */

/* Joins the boxes of all workers and ranks into the frame's low and high. */
static void join_boxes(struct lloyd *l)
{
	const unsigned d = l->problem.points.d;
	double *all = l->space.box;

	for (unsigned i = 1; i < l->problem.threads; i++)
		for (unsigned j = 0; j < 2 * d; j++)
			all[j] = fmin(all[j], l->space.box[i * l->space.box_stride + j]);
	for (unsigned j = 0; j < 2 * d; j++)
		all[j] = -all[j];
	if (l->problem.ranks)
		l->problem.ranks->most(all, 2 * (size_t)d);
	for (unsigned j = 0; j < d; j++) {
		l->space.frame.low[j] = -all[j];
		l->space.frame.high[j] = all[d + j];
	}
}

/* Prepares the first iteration, on worker 0. */
static void prepare(struct lloyd *l)
{
	struct workspace *space = &l->space;

	join_boxes(l);
	/* the boxes are not needed after this: the first is scratch */
	space->own = sums_need_own(&l->problem, space->frame.low, space->frame.high, space->box);
	frame_begin(&space->frame, &l->problem, space->solution.centre, space->box);
	sums_clear(&space->total);
	space->solution.iterations = space->solution.distances = 0;
}

static void begin(struct lloyd *l, struct worker *w)
{
	const struct points *p = &l->problem.points;
	struct share *s = &l->space.share[w->index];
	const size_t first = share_begin(p->n, w->index, w->threads);
	double *least = l->space.box + w->index * l->space.box_stride;

	s->x = (const char *)p->x + first * p->d * real_bytes(p->real);
	s->dealt = false;
	tiles_choose(p->real)->box(s->x, s->n, p->d, least, least + p->d,
				   least + round_up((size_t)2 * p->d * sizeof(double), APART) /
						   sizeof(double));
	team_barrier(l->problem.team);
	if (w->index == 0)
		prepare(l);
	team_barrier(l->problem.team);
	if (l->choice.deals)
		deal_by_place(s, &l->space.frame.stage);
	s->built = 0;
	l->choice.method[0]->build(s, &l->space.frame.stage);
}

/* The next method takes over. Labels are the same. */
static const struct method *const *replace(struct share *s, const struct stage *g,
					   const struct method *const *m)
{
	(*m)->labels(s, g);
	s->built = g->iteration;
	m++;
	(*m)->build(s, g);
	return m;
}

/* pays() only guesses: a method gives up if the guess was wrong. */
static const struct method *const *judge(const struct lloyd *l, struct share *s,
					 const struct method *const *m)
{
	while (m[1] && (*m)->gives_up && (*m)->gives_up(s, &l->space.frame.stage))
		m = replace(s, &l->space.frame.stage, m);
	return m;
}

/* ---- an iteration ---- */

/* Some of the clusters, for each worker. */
struct range {
	unsigned first, last;
};

static struct range clusters_of(const struct lloyd *l, const struct worker *w)
{
	return (struct range){ (unsigned)share_begin(l->problem.k, w->index, w->threads),
			       (unsigned)share_begin(l->problem.k, w->index + 1, w->threads) };
}

/* Adds up all workers' changes of some clusters; worker 0 also adds up the totals. */
static void gather(struct lloyd *l, struct worker *w, struct range of)
{
	const unsigned d = l->space.frame.stage.d;
	struct sums *all = &l->space.change;

	for (unsigned c = of.first; c < of.last; c++) {
		memset(all->sum + (size_t)c * d, 0, d * sizeof(*all->sum));
		all->count[c] = 0;
		for (unsigned i = 0; i < w->threads; i++)
			sums_join(all, &l->space.share[i].change, c);
		sums_remove_magic(all, c);
	}
	if (w->index)
		return;
	*all->moves = *all->computed = 0;
	for (unsigned i = 0; i < w->threads; i++) {
		*all->moves += *l->space.share[i].change.moves;
		*all->computed += *l->space.share[i].change.computed;
	}
	l->space.solution.distances += (uint64_t)*all->computed;
}

/* Adds up n integers at `sum` over all ranks. All workers call it, between barriers. */
static void sum_over_ranks(const struct problem *p, const struct worker *w, int64_t *sum, size_t n)
{
	if (!p->ranks)
		return;
	team_barrier(p->team);
	if (w->index == 0)
		p->ranks->sum(sum, n);
	team_barrier(p->team);
}

/* Updates the totals of some clusters by the changes. */
static void follow(struct lloyd *l, struct range of)
{
	for (unsigned c = of.first; c < of.last; c++)
		sums_join(&l->space.total, &l->space.change, c);
}

/* A value of an extent, over all workers' points. */
static double join(const struct lloyd *l, const struct worker *w, size_t at)
{
	double most = -INFINITY;

	for (unsigned i = 0; i < w->threads; i++)
		most = fmax(most, l->space.share[i].extent[at]);
	return most;
}

/* The extents of some clusters, over all workers' points and then over all ranks'. */
static void join_extents(struct lloyd *l, struct worker *w, struct range of)
{
	const size_t d = l->space.frame.stage.d, negated = l->problem.k * d;

	for (size_t e = of.first * d; e < of.last * d; e++) {
		l->space.extent[e] = join(l, w, e);
		l->space.extent[negated + e] = join(l, w, negated + e);
	}
	team_barrier(l->problem.team);
	if (w->index == 0 && l->problem.ranks)
		l->problem.ranks->most(l->space.extent, 2 * negated);
	team_barrier(l->problem.team);
}

/* Computes the totals of some clusters afresh, relative to their extents; counts are known. */
static void add_own(struct lloyd *l, struct worker *w, struct range of)
{
	const unsigned d = l->space.frame.stage.d;
	struct share *s = &l->space.share[w->index];
	int64_t *total = l->space.total.sum;

	sums_find_extent(s, &l->space.frame.stage);
	team_barrier(l->problem.team);
	join_extents(l, w, of);
	sums_add_own(s, &l->space.frame.stage, l->space.extent, l->space.total.count);
	team_barrier(l->problem.team);
	for (size_t e = (size_t)of.first * d; e < (size_t)of.last * d; e++) {
		total[e] = 0;
		for (unsigned i = 0; i < w->threads; i++)
			total[e] += l->space.share[i].change.sum[e];
	}
	sum_over_ranks(&l->problem, w, total, (size_t)l->problem.k * d);
}

/* A cluster's mean in dimension j, in given coordinates. */
static double mean_of(const struct lloyd *l, unsigned c, unsigned j)
{
	const size_t d = l->space.frame.stage.d, at = c * d + j;
	const double *const high = l->space.extent, *const negated_low = high + l->problem.k * d;
	const int64_t sum = l->space.total.sum[at], count = l->space.total.count[c];

	if (l->space.own)
		return sums_own_mean(sum, -negated_low[at], high[at], count);
	return frame_given(&l->space.frame, (double)sum / l->space.frame.scale[j] / (double)count,
			   j);
}

/* Moves some centres to the means of their points; one without points stays. */
static void move_centres(struct lloyd *l, struct range of, double *mean)
{
	const unsigned d = l->space.frame.stage.d;

	for (unsigned c = of.first; c < of.last; c++) {
		const size_t row = (size_t)c * d;
		const int64_t count = l->space.total.count[c];

		memcpy(l->space.solution.from + row, l->space.solution.centre + row,
		       d * sizeof(double));
		l->space.solution.count[c] = (uint64_t)count;
		l->space.frame.moved[c] = 0;
		for (unsigned j = 0; j < d && count; j++)
			mean[j] = mean_of(l, c, j);
		if (count)
			l->space.frame.moved[c] = frame_put_centre(&l->space.frame, c, mean);
	}
}

/* Ends iteration `done`. Returns whether there is another: the same on all workers and ranks. */
static bool update(struct lloyd *l, struct worker *w, uint64_t done)
{
	const struct problem *p = &l->problem;
	const struct range of = clusters_of(l, w);

	team_barrier(p->team);
	gather(l, w, of);
	sum_over_ranks(p, w, l->space.change.sum,
		       sums_length(l->space.frame.stage.d, l->space.frame.stage.k));
	if (w->index == 0) {
		l->space.frame.stage.computed = (uint64_t)*l->space.change.computed;
		l->space.solution.iterations = l->space.frame.stage.iteration = done + 1;
	}
	follow(l, of);
	if (l->space.own) {
		team_barrier(p->team);
		add_own(l, w, of);
	}
	move_centres(l, of, l->space.box + w->index * l->space.box_stride);
	team_barrier(p->team);
	return !problem_is_solved(p, done + 1, *l->space.change.moves != 0);
}

void lloyd_work(struct lloyd *l, struct worker *w)
{
	struct share *s = &l->space.share[w->index];
	const struct method *const *m = l->choice.method;
	uint64_t done = 0;

	begin(l, w);
	for (;;) {
		sums_clear(&s->change);
		(*m)->assign(s, &l->space.frame.stage);
		if (l->space.own)
			(*m)->labels(s, &l->space.frame.stage);
		if (!update(l, w, done++))
			break;
		m = judge(l, s, m);
	}
	(*m)->labels(s, &l->space.frame.stage);
	if (s->dealt)
		deal_labels(s);
}
