/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory a clustering needs, and who owns which part. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kit/shares.h"
#include "solve/kmeans/order.h"
#include "solve/kmeans/nearest.h"
#include "solve/kmeans/workspace.h"

static struct sums carve_sums(struct carver *c, const struct problem *p)
{
	const unsigned d = p->points.d, k = p->k;

	return sums_at(carve(c, sums_length(d, k) * sizeof(int64_t)), d, k);
}

/* Data that all workers share. */
static void lay_out_common(struct workspace *w, struct carver *c, const struct problem *p)
{
	const size_t row = p->points.d * sizeof(double), box = round_up(2 * row, APART),
		     scratch = round_up((size_t)2 * p->points.d * MOST_WIDTH, APART);

	frame_lay_out(&w->frame, c, p);
	w->box_stride = (box + scratch) / sizeof(double);
	w->box = carve(c, p->threads * (box + scratch));
	w->change = carve_sums(c, p);
	w->total = carve_sums(c, p);
	w->solution.from = carve(c, p->k * row);
	w->solution.centre = carve(c, p->k * row);
	w->solution.count = carve(c, p->k * sizeof(uint64_t));
	w->extent = carve(c, 2 * (size_t)p->k * row);
}

/* Bytes of a joint row; 0: there is none. */
static size_t row_of(const struct problem *p, const struct choice *choice)
{
	return choice->joint ? p->points.d * real_bytes(p->points.real) : 0;
}

/* A worker's own memory: whole granules, so that each can lie on its node. */
static void lay_out_share(struct share *s, struct carver *c, const struct problem *p,
			  const struct choice *choice, unsigned worker, size_t granule)
{
	const size_t begin = c->used;
	size_t most = 0;

	s->n = share_size(p->points.n, worker, p->threads);
	s->change = carve_sums(c, p);
	s->scratch = exact_carve(c, p->points.d, p->k);
	s->extent = carve(c, 2 * (size_t)p->k * p->points.d * sizeof(*s->extent));
	if (choice->joint) {
		s->place = carve(c, s->n * sizeof(*s->place));
		s->of_part = carve(c, MOST_PARTS * sizeof(*s->of_part));
	}
	if (choice->deals)
		most = deal_bytes(p);
	for (const struct method *const *m = choice->method; *m; m++) {
		const size_t bytes = (*m)->bytes(p, s->n);

		most = bytes > most ? bytes : most;
	}
	s->memory = carve(c, most);
	c->used = round_up(c->used, granule);
	s->bytes = c->used - begin;
}

/*
 * Bytes of shares that are placed together, so that each worker's share can lie on its node: a huge
 * page if that maps at most half as much again, else a page.
 */
static size_t granule_of(const struct problem *p, const struct choice *choice)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct carver c = { .memory = NULL };
	struct share largest;

	lay_out_share(&largest, &c, p, choice, 0, page);
	return p->huge && c.used >= 2 * p->huge ? p->huge : page;
}

static bool is_huge(const struct problem *p, const struct choice *choice)
{
	return granule_of(p, choice) == p->huge;
}

/* Shared by the methods: room for rows, then labels. */
struct joint_shape {
	size_t row, labels, bytes;
};

static struct joint_shape shape_joint(const struct problem *p, const struct choice *choice)
{
	struct joint_shape s = { .row = row_of(p, choice) };
	struct carver c = { .memory = NULL };

	carve(&c, p->points.n * s.row);
	s.labels = c.used;
	carve(&c, p->points.n * sizeof(uint32_t));
	s.bytes = s.row ? c.used + 1 : 0; /* regions must not be empty */
	return s;
}

/* At least one, since regions must not be empty. */
static size_t labels_bytes(const struct problem *p)
{
	return p->points.n ? p->points.n * sizeof(uint32_t) : 1;
}

static size_t common_bytes(const struct problem *p)
{
	struct carver c = { .memory = NULL };
	struct workspace w;

	lay_out_common(&w, &c, p);
	return c.used;
}

static size_t shares_bytes(const struct problem *p, const struct choice *choice)
{
	const size_t granule = granule_of(p, choice);
	struct carver c = { .memory = NULL };
	struct share share;

	for (unsigned i = 0; i < p->threads; i++)
		lay_out_share(&share, &c, p, choice, i, granule);
	return c.used;
}

size_t workspace_bytes(const struct problem *p, const struct choice *choice)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return round_up(common_bytes(p), page) + round_up(labels_bytes(p), page) +
	       round_up(shape_joint(p, choice).bytes, granule_of(p, choice)) +
	       shares_bytes(p, choice);
}

/* ---- mapping ---- */

static void *map(const struct lloyd_memory *m, const char *name, size_t bytes, bool huge)
{
	return m->map(m->context, name, bytes, huge);
}

static void claim(const struct lloyd_memory *m, void *part, size_t bytes, unsigned worker,
		  bool alone)
{
	m->claim(m->context, part, bytes, worker, alone);
}

static int map_common(struct workspace *w, const struct problem *p, const struct lloyd_memory *m)
{
	const size_t bytes = common_bytes(p);
	struct carver c = { .memory = map(m, "centres and sums", bytes, false) };

	if (!c.memory)
		return -1;
	claim(m, c.memory, bytes, 0, false);
	w->common = c.memory;
	w->common_bytes = bytes;
	lay_out_common(w, &c, p);
	return 0;
}

static int map_labels(struct workspace *w, const struct problem *p, const struct lloyd_memory *m)
{
	w->solution.label = map(m, "labels", labels_bytes(p), false);
	if (!w->solution.label)
		return -1;
	for (unsigned i = 0; i < p->threads; i++) {
		w->share[i].label = w->solution.label + share_begin(p->points.n, i, p->threads);
		claim(m, w->share[i].label,
		      share_size(p->points.n, i, p->threads) * sizeof(uint32_t), i, true);
	}
	return 0;
}

/* Redistribution leaves each worker as many points as before, so joint memory is divided alike. */
static int map_joint(struct workspace *w, const struct problem *p, const struct choice *choice,
		     const struct lloyd_memory *m)
{
	const struct joint_shape s = shape_joint(p, choice);
	const bool huge = is_huge(p, choice);

	w->joint = (struct joint){ p->points.n, w->share, p->threads, p->team, NULL, NULL };
	for (unsigned i = 0; i < p->threads; i++) {
		w->share[i].joint = &w->joint;
		w->share[i].index = i;
	}
	if (!s.bytes)
		return 0;
	w->joint.row = map(m, "points by place", s.bytes, huge);
	if (!w->joint.row)
		return -1;
	w->joint.label = (uint32_t *)((char *)w->joint.row + s.labels);
	w->row = s.row;
	for (unsigned i = 0; i < p->threads; i++) {
		const size_t first = share_begin(p->points.n, i, p->threads), n = w->share[i].n;

		claim(m, (char *)w->joint.row + first * s.row, n * s.row, i, false);
		claim(m, w->joint.label + first, n * sizeof(uint32_t), i, false);
	}
	return 0;
}

static int map_shares(struct workspace *w, const struct problem *p, const struct choice *choice,
		      const struct lloyd_memory *m)
{
	const size_t granule = granule_of(p, choice);
	struct carver c = { .memory = map(m, "index of each thread", shares_bytes(p, choice),
					  is_huge(p, choice)) };

	if (!c.memory)
		return -1;
	for (unsigned i = 0; i < p->threads; i++) {
		const size_t begin = c.used;

		lay_out_share(&w->share[i], &c, p, choice, i, granule);
		claim(m, c.memory + begin, w->share[i].bytes, i, true);
	}
	return 0;
}

int workspace_open(struct workspace *w, const struct problem *p, const struct choice *choice,
		   const struct lloyd_memory *m)
{
	*w = (struct workspace){ .share = apart_alloc(p->threads * sizeof(*w->share)) };
	return !w->share || map_common(w, p, m) || map_labels(w, p, m) ||
			       map_shares(w, p, choice, m) || map_joint(w, p, choice, m)
		       ? -1
		       : 0;
}

void workspace_close(struct workspace *w)
{
	free(w->share);
}

void workspace_enter(struct workspace *w, unsigned worker)
{
	struct share *s = &w->share[worker];

	if (worker == 0)
		memset(w->common, 0, w->common_bytes);
	memset(s->change.sum, 0, s->bytes); /* where the share's own memory begins */
	memset(s->label, 0, s->n * sizeof(*s->label));
	if (w->joint.row) {
		const size_t first = share_begin(w->joint.points, worker, w->joint.workers);

		memset((char *)w->joint.row + first * w->row, 0, s->n * w->row);
		memset(w->joint.label + first, 0, s->n * sizeof(*w->joint.label));
	}
}
