/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/kmeans/brute.h"
#include "bench/kmeans/lloyd.h"
#include "bench/kmeans/method.h"
#include "kit/shares.h"
#include "trial.h"

/* Tried in this order by PRUNE_AUTO. */
static const struct {
	const struct method *method;
	enum prune prune; /* asks for it by name */
} methods[] = {
	{ &cells, PRUNE_CELLS },
	{ &bounds, PRUNE_BOUNDS },
	{ &brute, PRUNE_NONE },
};
enum { METHODS = sizeof(methods) / sizeof(*methods) };

/*
 * Of the distances: a method that still computes more than this share of them in its second
 * iteration does not pay.
 */
#define MOST_COMPUTED 0.7

#define FARTHEST 1e17 /* of which the square fits a float, in any dimension that there may be */

struct lloyd {
	struct problem problem;
	const struct method *method;
	/* goes on where the method only thought that it pays; NULL: it does in any case */
	const struct method *otherwise;
	struct stage stage;
	struct solution solution;
	struct share *share; /* by worker */
	/* What the stage shows as constant. */
	void *origin, *centre, *half;
	double *low, *high, *moved, *scale;
	/*
	 * by worker: the least values of its points, the negated largest, and scratch APART from it
	 */
	double *box;
	size_t box_stride;
	struct sums change, total; /* of this rank, then of all; of all iterations */
	char *memory;
	size_t bytes;
};

/* So many bytes of what begins at *cursor; with the base NULL it is only counted. */
static void *take(char *base, size_t *cursor, size_t bytes)
{
	const size_t at = *cursor;

	*cursor += apart(bytes);
	return base ? base + at : NULL;
}

static size_t whole_pages(size_t bytes)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

/* What all share. Returns its bytes. */
static size_t place_common(struct lloyd *l, char *base)
{
	const struct problem *p = &l->problem;
	const unsigned d = p->points.d, k = p->k;
	const size_t real = real_bytes(p->points.real), row = d * sizeof(double);
	size_t cursor = 0;

	l->origin = take(base, &cursor, (d + 1) * real);
	l->centre = take(base, &cursor, (size_t)k * d * real);
	l->half = take(base, &cursor, k * real);
	l->low = take(base, &cursor, row);
	l->high = take(base, &cursor, row);
	l->scale = take(base, &cursor, row);
	l->moved = take(base, &cursor, k * sizeof(double));
	l->box_stride = (apart(2 * row) + apart((size_t)2 * d * MOST_WIDTH)) / sizeof(double);
	l->box = take(base, &cursor, p->threads * l->box_stride * sizeof(double));
	l->change = sums_at(take(base, &cursor, sums_length(d, k) * sizeof(int64_t)), d, k);
	l->total = sums_at(take(base, &cursor, sums_length(d, k) * sizeof(int64_t)), d, k);
	l->solution.from = take(base, &cursor, k * row);
	l->solution.centre = take(base, &cursor, k * row);
	l->solution.count = take(base, &cursor, k * sizeof(uint64_t));
	l->solution.label = take(base, &cursor, p->points.n * sizeof(uint32_t));
	return whole_pages(cursor);
}

/* What is a worker's own: whole pages, so that they lie where it touches them. */
static size_t place_share(const struct lloyd *l, struct share *s, unsigned worker, char *base)
{
	const struct points *p = &l->problem.points;
	const size_t first = share_begin(p->n, worker, l->problem.threads);
	size_t cursor = 0, room, other = 0;

	s->n = share_size(p->n, worker, l->problem.threads);
	if (base) {
		s->x = (const char *)p->x + first * p->d * real_bytes(p->real);
		s->label = l->solution.label + first;
	}
	s->change = sums_at(take(base, &cursor, sums_length(p->d, l->problem.k) * sizeof(int64_t)),
			    p->d, l->problem.k);
	room = l->method->bytes(s->n, p->d, l->problem.k, p->real);
	if (l->otherwise)
		other = l->otherwise->bytes(s->n, p->d, l->problem.k, p->real);
	s->memory = take(base, &cursor, other > room ? other : room);
	return s->bytes = whole_pages(cursor);
}

/* All of it, from base on; NULL: to be counted only. */
static size_t place(struct lloyd *l, char *base)
{
	size_t bytes = place_common(l, base);
	struct share share;

	for (unsigned i = 0; i < l->problem.threads; i++)
		bytes +=
			place_share(l, base ? &l->share[i] : &share, i, base ? base + bytes : NULL);
	return bytes;
}

/* The first that fits, from one of the table's on; METHODS: none does. */
static int choose(const struct problem *p, enum prune prune, int first)
{
	for (int i = first; i < METHODS; i++) {
		const struct method *m = methods[i].method;
		const bool wanted =
			prune == PRUNE_AUTO ? !m->pays || m->pays(p) : prune == methods[i].prune;

		if (wanted && m->fits(p))
			return i;
	}
	return METHODS;
}

/* For the rank with most points, so that all choose alike. */
static bool has_room(const struct lloyd *l)
{
	struct lloyd largest = *l;

	largest.problem.points.n =
		share_size(l->problem.all, 0, l->problem.ranks ? l->problem.ranks->ranks : 1);
	return !l->problem.room || place(&largest, NULL) <= l->problem.room;
}

/*
 * Of the methods that auto would take, those that need more memory than there is are left out. The
 * last needs least: where it has no room, it is for the planner to refuse.
 */
static void choose_methods(struct lloyd *l, enum prune prune)
{
	const struct problem *p = &l->problem;

	for (int i = choose(p, prune, 0); i < METHODS; i = choose(p, prune, i + 1)) {
		l->method = methods[i].method;
		l->otherwise = NULL;
		if (prune != PRUNE_AUTO || !l->method->pays)
			return;
		for (int j = choose(p, prune, i ? i : 1); j < METHODS;
		     j = choose(p, prune, j + 1)) {
			l->otherwise = methods[j].method;
			if (has_room(l))
				return;
		}
	}
}

size_t lloyd_bytes(const struct problem *p, enum prune prune)
{
	struct lloyd l = { .problem = *p };

	choose_methods(&l, prune);
	return l.method ? place(&l, NULL) : 0;
}

struct lloyd *lloyd_open(const struct problem *p, enum prune prune)
{
	struct lloyd *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->problem = *p;
	choose_methods(l, prune);
	l->share = aligned_alloc(APART, p->threads * sizeof(*l->share));
	if (!l->method || !l->share) {
		errno = l->method ? ENOMEM : EINVAL;
		goto fail;
	}
	memset(l->share, 0, p->threads * sizeof(*l->share));
	l->bytes = place(l, NULL);
	l->memory = mmap(NULL, l->bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (l->memory == MAP_FAILED) {
		l->memory = NULL;
		goto fail;
	}
	/* where there are none, it is slower and nothing else */
	madvise(l->memory, l->bytes, MADV_HUGEPAGE);
	place(l, l->memory);
	l->stage = (struct stage){ .real = p->points.real,
				   .d = p->points.d,
				   .k = p->k,
				   .all = p->all,
				   .origin = l->origin,
				   .centre = l->centre,
				   .half = l->half,
				   .low = l->low,
				   .high = l->high,
				   .moved = l->moved,
				   .scale = l->scale,
				   .widest = INSTRUCTION_SETS - 1,
				   .forced = prune != PRUNE_AUTO };
	return l;
fail:
	lloyd_close(l);
	return NULL;
}

void lloyd_close(struct lloyd *l)
{
	const int error = errno;

	if (!l)
		return;
	if (l->memory)
		munmap(l->memory, l->bytes);
	free(l->share);
	free(l);
	errno = error;
}

const struct solution *lloyd_solution(const struct lloyd *l)
{
	return &l->solution;
}

const char *lloyd_method(const struct lloyd *l)
{
	return l->method->name;
}

void lloyd_enter(struct lloyd *l, struct worker *w)
{
	struct share *s = &l->share[w->index];

	memset(s->change.sum, 0, s->bytes); /* the first of it */
	memset(s->label, 0, s->n * sizeof(*s->label));
}

/* Of all workers and ranks, into low and high, as they are given. */
static void join_boxes(struct lloyd *l)
{
	const unsigned d = l->problem.points.d;
	double *all = l->box;

	for (unsigned i = 1; i < l->problem.threads; i++)
		for (unsigned j = 0; j < 2 * d; j++)
			all[j] = fmin(all[j], l->box[i * l->box_stride + j]);
	for (unsigned j = 0; j < 2 * d; j++)
		all[j] = -all[j];
	if (l->problem.ranks)
		l->problem.ranks->most(all, 2 * (size_t)d);
	for (unsigned j = 0; j < d; j++) {
		l->low[j] = -all[j];
		l->high[j] = all[d + j];
	}
}

/*
 * In the points' type. Not so far that its square could not be had; only from there on a first
 * centre is not where it was given.
 */
static double relative(const struct lloyd *l, double given, unsigned j)
{
	const unsigned d = l->stage.d;
	double value;

	if (l->stage.real == FLOAT)
		value = (double)(((float)given - ((const float *)l->origin)[j]) *
				 ((const float *)l->origin)[d]);
	else
		value = (given - ((const double *)l->origin)[j]) * ((const double *)l->origin)[d];
	return fmax(-FARTHEST, fmin(value, FARTHEST));
}

/* Puts centre c where `value` is, relative, rounded to the points' type; says how far it moved. */
static double put_centre(struct lloyd *l, unsigned c, const double *value)
{
	const unsigned d = l->stage.d;
	double square = 0, moved = 0;

	for (unsigned j = 0; j < d; j++) {
		const double old = real_get(l->stage.real, l->centre, (size_t)c * d + j);
		double now;

		real_set(l->stage.real, l->centre, (size_t)c * d + j, value[j]);
		now = real_get(l->stage.real, l->centre, (size_t)c * d + j);
		square += now * now;
		moved += (now - old) * (now - old);
	}
	real_set(l->stage.real, l->half, c, square / 2);
	return sqrt(moved) * (1 + (d + 4) * DBL_EPSILON);
}

/*
 * The relative points lie in the box; where centres may be, which rounds scores, is known from it
 * and from the first ones.
 */
static void bound(struct lloyd *l)
{
	const unsigned d = l->stage.d;
	const bool is_float = l->stage.real == FLOAT;
	double square = 0, far, most;

	for (unsigned j = 0; j < d; j++) {
		most = fmax(-l->low[j], l->high[j]);
		l->scale[j] = sum_scale(most, l->problem.all);
		square += most * most;
	}
	l->stage.reach = sqrt(square) * (1 + (d + 4) * DBL_EPSILON);
	far = square;
	for (unsigned c = 0; c < l->problem.k; c++)
		far = fmax(far, 2 * real_get(l->stage.real, l->half, c));
	l->stage.slack =
		(d + 4) * ((is_float ? FLT_EPSILON : DBL_EPSILON) * (far / 2 + sqrt(far * square)) +
			   (is_float ? FLT_MIN : DBL_MIN));
}

/* A power of two, by which what is at most `half` comes to lie between -1 and 1. */
static double unit(double half, enum real real)
{
	const int most = real == FLOAT ? FLT_MAX_EXP - 2 : DBL_MAX_EXP - 2;
	int exponent;

	frexp(half, &exponent);
	return half > 0 ? ldexp(1, -exponent > most ? most : -exponent) : 1;
}

/* What there is to know before the first iteration. Worker 0. */
static void prepare(struct lloyd *l)
{
	const struct problem *p = &l->problem;
	const unsigned d = p->points.d;
	double half = 0;

	join_boxes(l);
	for (unsigned j = 0; j < d; j++) {
		real_set(l->stage.real, l->origin, j, l->low[j] / 2 + l->high[j] / 2);
		half = fmax(half, fmax(l->high[j] - real_get(l->stage.real, l->origin, j),
				       real_get(l->stage.real, l->origin, j) - l->low[j]));
	}
	real_set(l->stage.real, l->origin, d, unit(half, l->stage.real));
	for (unsigned j = 0; j < d; j++) {
		l->low[j] = relative(l, l->low[j], j);
		l->high[j] = relative(l, l->high[j], j);
	}
	for (unsigned c = 0; c < p->k; c++) {
		for (unsigned j = 0; j < d; j++) {
			const double given = real_get(l->stage.real, p->start, (size_t)c * d + j);

			l->solution.centre[(size_t)c * d + j] = given;
			l->box[j] = relative(l, given, j); /* nobody reads the boxes any more */
		}
		put_centre(l, c, l->box);
		l->moved[c] = 0;
	}
	bound(l);
	sums_clear(&l->total);
	l->stage.iteration = l->stage.computed = 0;
	l->solution.iterations = l->solution.distances = 0;
}

static void begin(struct lloyd *l, struct worker *w)
{
	const struct points *p = &l->problem.points;
	struct share *s = &l->share[w->index];
	double *least = l->box + w->index * l->box_stride;

	tiles_choose(p->real)->box(s->x, s->n, p->d, least, least + p->d,
				   least + apart((size_t)2 * p->d * sizeof(double)) /
						   sizeof(double));
	team_barrier(l->problem.team);
	if (w->index == 0)
		prepare(l);
	team_barrier(l->problem.team);
	s->built = 0;
	l->method->build(s, &l->stage);
}

/*
 * Whether it pays is a guess before there are iterations; after them, what the method computes is
 * known. The worker goes on with another one where that is most of the distances: labels are the
 * same by any.
 */
static const struct method *judge(const struct lloyd *l, struct share *s, const struct method *m)
{
	if (m == l->otherwise || !l->otherwise || l->stage.iteration < 2 ||
	    (double)*s->change.computed < MOST_COMPUTED * (double)s->n * l->stage.k)
		return m;
	m->labels(s, &l->stage);
	s->built = l->stage.iteration;
	l->otherwise->build(s, &l->stage);
	return l->otherwise;
}

/* The changes that all workers have found, of some clusters; worker 0 has the rest. */
static void gather(struct lloyd *l, struct worker *w, unsigned first, unsigned last)
{
	const unsigned d = l->stage.d;
	struct sums *all = &l->change;

	for (unsigned c = first; c < last; c++) {
		memset(all->sum + (size_t)c * d, 0, d * sizeof(*all->sum));
		all->count[c] = 0;
		for (unsigned i = 0; i < w->threads; i++)
			sums_join(all, &l->share[i].change, c);
		sums_settle(all, c);
	}
	if (w->index)
		return;
	*all->moves = *all->computed = 0;
	for (unsigned i = 0; i < w->threads; i++) {
		*all->moves += *l->share[i].change.moves;
		*all->computed += *l->share[i].change.computed;
	}
	l->solution.distances += (uint64_t)*all->computed;
}

/* The means of some clusters. One without points stays where it is. */
static void move_centres(struct lloyd *l, unsigned first, unsigned last, double *mean)
{
	const unsigned d = l->stage.d;

	for (unsigned c = first; c < last; c++) {
		const size_t row = (size_t)c * d;
		const int64_t count = l->total.count[c] += l->change.count[c];

		memcpy(l->solution.from + row, l->solution.centre + row, d * sizeof(double));
		l->solution.count[c] = (uint64_t)count;
		l->moved[c] = 0;
		for (unsigned j = 0; j < d; j++)
			l->total.sum[row + j] += l->change.sum[row + j];
		for (unsigned j = 0; j < d && count; j++) {
			mean[j] = (double)l->total.sum[row + j] / l->scale[j] / (double)count;
			l->solution.centre[row + j] =
				real_get(l->stage.real, l->origin, j) +
				mean[j] / real_get(l->stage.real, l->origin, d);
		}
		if (count)
			l->moved[c] = put_centre(l, c, mean);
	}
}

/*
 * Ends an iteration, of which `done` were before. Whether another one is to come: all workers of
 * all ranks find the same.
 */
static bool update(struct lloyd *l, struct worker *w, uint64_t done)
{
	const struct problem *p = &l->problem;
	const unsigned first = (unsigned)share_begin(p->k, w->index, w->threads),
		       last = (unsigned)share_begin(p->k, w->index + 1, w->threads);
	bool more;

	team_barrier(p->team);
	gather(l, w, first, last);
	team_barrier(p->team);
	if (w->index == 0) {
		if (p->ranks)
			p->ranks->sum(l->change.sum, sums_length(l->stage.d, l->stage.k));
		l->stage.computed = (uint64_t)*l->change.computed;
		l->solution.iterations = l->stage.iteration = done + 1;
	}
	if (p->ranks)
		team_barrier(p->team);
	more = !is_last(p, done + 1, *l->change.moves != 0);
	move_centres(l, first, last, l->box + w->index * l->box_stride);
	team_barrier(p->team);
	return more;
}

void lloyd_work(struct lloyd *l, struct worker *w)
{
	struct share *s = &l->share[w->index];
	const struct method *m = l->method;
	uint64_t done = 0;

	begin(l, w);
	for (;;) {
		sums_clear(&s->change);
		m->assign(s, &l->stage);
		if (!update(l, w, done++))
			break;
		m = judge(l, s, m);
	}
	m->labels(s, &l->stage);
}
