/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/kmeans/tiles.h"
#include "bench/kmeans/workspace.h"
#include "kit/carve.h"
#include "kit/shares.h"

static void next_page(struct carver *c)
{
	c->used = round_up(c->used, (size_t)sysconf(_SC_PAGESIZE));
}

static struct sums carve_sums(struct carver *c, const struct problem *p)
{
	const unsigned d = p->points.d, k = p->k;

	return sums_at(carve(c, sums_length(d, k) * sizeof(int64_t)), d, k);
}

/* What all workers share. */
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
	w->solution.label = carve(c, p->points.n * sizeof(uint32_t));
	next_page(c);
}

/* A worker's own memory: whole pages, which first touch puts on its node. */
static void lay_out_share(struct share *s, struct carver *c, const struct problem *p,
			  const struct choice *choice, unsigned worker)
{
	const size_t begin = c->used;
	size_t room, other = 0;

	s->n = share_size(p->points.n, worker, p->threads);
	s->change = carve_sums(c, p);
	room = choice->method->bytes(s->n, p->points.d, p->k, p->points.real);
	if (choice->otherwise)
		other = choice->otherwise->bytes(s->n, p->points.d, p->k, p->points.real);
	s->memory = carve(c, other > room ? other : room);
	next_page(c);
	s->bytes = c->used - begin;
}

size_t workspace_bytes(const struct problem *p, const struct choice *choice)
{
	struct carver c = { .memory = NULL };
	struct workspace w;
	struct share share;

	lay_out_common(&w, &c, p);
	for (unsigned i = 0; i < p->threads; i++)
		lay_out_share(&share, &c, p, choice, i);
	return c.used;
}

static void lay_out(struct workspace *w, const struct problem *p, const struct choice *choice)
{
	struct carver c = { .memory = w->memory };

	lay_out_common(w, &c, p);
	for (unsigned i = 0; i < p->threads; i++) {
		const size_t first = share_begin(p->points.n, i, p->threads);

		lay_out_share(&w->share[i], &c, p, choice, i);
		w->share[i].x = (const char *)p->points.x +
				first * p->points.d * real_bytes(p->points.real);
		w->share[i].label = w->solution.label + first;
	}
}

int workspace_open(struct workspace *w, const struct problem *p, const struct choice *choice)
{
	*w = (struct workspace){ .share = apart_alloc(p->threads * sizeof(*w->share)),
				 .bytes = workspace_bytes(p, choice) };
	if (!w->share)
		return -1;
	w->memory = mmap(NULL, w->bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (w->memory == MAP_FAILED) {
		w->memory = NULL;
		return -1;
	}
	/* may fail: then it is only slower */
	madvise(w->memory, w->bytes, MADV_HUGEPAGE);
	lay_out(w, p, choice);
	return 0;
}

void workspace_close(struct workspace *w)
{
	if (w->memory)
		munmap(w->memory, w->bytes);
	free(w->share);
}

void workspace_enter(struct workspace *w, unsigned worker)
{
	struct share *s = &w->share[worker];

	memset(s->change.sum, 0, s->bytes); /* where the share's own memory begins */
	memset(s->label, 0, s->n * sizeof(*s->label));
}
