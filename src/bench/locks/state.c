/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/locks/locks.h"

#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "machine/clock.h"
#include "machine/memory/region.h"
#include "machine/topology/topology.h"

bool locks_are_one(const struct trial *t)
{
	return t->value[LAYOUT].choice < LAYOUT_DENSE;
}

struct geometry locks_geometry(const struct trial *t)
{
	const struct kind *kind = t->variant->data;
	const unsigned layout = t->value[LAYOUT].choice;
	const size_t apart = machine_apart(t->machine),
		     lock = round_up(kind->bytes, sizeof(uint64_t));
	struct geometry g = { .locks = locks_are_one(t) ? 1 : t->threads, .apart = apart };

	g.guarded = layout == LAYOUT_APART ? round_up(lock, apart) : lock;
	g.stride = g.guarded + sizeof(struct guarded);
	if (layout != LAYOUT_DENSE)
		g.stride = round_up(g.stride, apart);
	g.all = round_up(g.locks * g.stride, apart);
	g.lines = t->value[LINES].count - 1;
	g.left = g.all + g.locks * g.lines * apart;
	g.bytes = g.left + g.locks * apart;
	return g;
}

size_t locks_post_size(const struct trial *t)
{
	return round_up(offsetof(struct post, from) + t->threads * (sizeof(uint64_t) + 1),
			t->machine->page);
}

struct visitor *locks_visitor(const struct state *s, unsigned thread)
{
	return &((struct post *)(s->posts + thread * s->size))->visitor;
}

/*
 * A post lies on its thread's node; locks and the data they guard lie on the first thread's node.
 */
static bool get_memory(struct state *s, const struct trial *t)
{
	struct region *r = region_map(t->arena, "posts", t->threads * s->size, PAGES_BASE);

	for (unsigned i = 0; r && i < t->threads; i++) {
		region_home(r, i * s->size, s->size, t->place[i].node);
		region_user(r, i * s->size, s->size, t->place[i].node);
	}
	if (!r)
		return false;
	s->posts = region_base(r);
	s->locks = region_on_node(t->arena, "locks", s->geometry.bytes, t->place[0].node);
	s->histogram = s->locks ? apart_alloc(sizeof(*s->histogram)) : NULL;
	return s->histogram;
}

void *locks_prepare(const struct trial *t)
{
	struct state *s = apart_alloc(sizeof(*s));

	if (!s)
		return NULL;
	s->kind = t->variant->data;
	s->geometry = locks_geometry(t);
	s->size = locks_post_size(t);
	s->machine = t->machine;
	s->place = t->place;
	s->threads = t->threads;
	s->reads = (unsigned)t->value[READS].count;
	s->lines = t->value[LINES].count;
	s->section = t->value[SECTION].count;
	s->pause = t->value[PAUSE].count;
	s->tick = clock_tick();
	s->start.awaited = t->oversubscribed ? 0 : t->threads;
	if (get_memory(s, t))
		return s;
	free(s);
	return NULL;
}

static enum distance distance_between(const struct state *s, unsigned a, unsigned b)
{
	if (a == b)
		return DISTANCE_SELF;
	switch (machine_level(s->machine, s->place[a].cpu, s->place[b].cpu)) {
	case LEVEL_CPU:
	case LEVEL_CORE:
		return DISTANCE_CORE;
	case LEVEL_L2:
	case LEVEL_L3:
		return DISTANCE_CACHE;
	case LEVEL_NODE:
		return DISTANCE_NODE;
	default:
		return DISTANCE_FAR;
	}
}

/* The thread whose post has a node's cohort lock: the first one there. */
static unsigned first_of_node(const struct state *s, int node)
{
	unsigned first = 0;

	while (s->place[first].node != node)
		first++;
	return first;
}

void locks_enter(void *state, struct worker *self)
{
	const struct state *s = state;
	const struct geometry *g = &s->geometry;
	const unsigned me = self->index, which = g->locks == 1 ? 0 : me;
	struct visitor *v = locks_visitor(s, me);
	struct post *post;
	unsigned char *distance;

	memset(s->posts + me * s->size, 0, s->size); /* first touch */
	*v = (struct visitor){
		.lock = s->locks + which * g->stride,
		.guarded = (struct guarded *)(s->locks + which * g->stride + g->guarded),
		.more = s->locks + g->all + which * g->lines * g->apart,
		.apart = g->apart,
		.left = (uint64_t *)(s->locks + g->left + which * g->apart),
		.index = me,
		.threads = s->threads,
		.posts = s->posts,
		.size = s->size,
		.lines = s->lines,
		.section = s->section,
		.pause = s->pause,
		.reads = s->reads,
		.every = kinds_every(s->section + s->pause),
		/* so that threads do not all read at once */
		.share = (unsigned)(me * UINT64_C(37) % 100),
		.until = 1 + me % KINDS_LEAST_EVERY,
	};
	post = own_post(v);
	distance = (unsigned char *)(post->from + s->threads);
	for (unsigned i = 0; i < s->threads; i++)
		distance[i] = (unsigned char)distance_between(s, i, me);
	v->from = post->from;
	v->distance = distance;
	v->clh.mine = &post->clh[0];
	v->cohort = &post_of(v, first_of_node(s, s->place[me].node))->cohort;
	if (which == me && s->kind->init)
		s->kind->init(v->lock, &post->clh[1]);
}

void locks_reset(void *state)
{
	struct state *s = state;

	for (unsigned i = 0; i < s->geometry.locks; i++)
		*locks_visitor(s, i)->left = 0;
	start_reset(&s->start);
}

struct job {
	void (*visit)(struct visitor *, uint64_t n);
	struct visitor *visitor;
	struct start *start;
	bool together;
};

/* Counting and timing begin when all threads work, like the units of the sample. */
static inline void visit_n(void *job, uint64_t n)
{
	struct job *j = job;

	if (!j->together &&
	    atomic_load_explicit(&j->start->begun, memory_order_relaxed) >= j->start->awaited) {
		kinds_begin(j->visitor);
		j->together = true;
	}
	j->visit(j->visitor, n);
}

void locks_work(void *state, struct worker *self)
{
	struct state *s = state;
	struct job job = { s->kind->visit, locks_visitor(s, self->index), &s->start, false };

	loop(&s->start, self, visit_n, &job);
}

static uint64_t wrote(const struct visitor *v)
{
	uint64_t all = v->wrote;

	for (unsigned i = 0; i < v->threads; i++)
		all += v->from[i];
	return all;
}

/* A lost word proves that two sections overlapped. */
static bool is_exact(const struct visitor *v, uint64_t writes)
{
	bool exact = v->guarded->count == writes;

	for (uint64_t i = 1; i < v->lines; i++)
		exact &= *line_of(v, i) == writes;
	return exact;
}

const char *locks_verify(void *state, const struct trial *t)
{
	const struct state *s = state;
	uint64_t all = 0;

	for (unsigned i = 0; i < t->threads; i++) {
		const struct visitor *v = locks_visitor(s, i);

		if (v->torn)
			return "a reading section saw a half-done writing section";
		if (s->geometry.locks > 1 && !is_exact(v, wrote(v)))
			return "the data of a thread's lock does not count all its sections";
		all += wrote(v);
	}
	if (s->geometry.locks == 1 && !is_exact(locks_visitor(s, 0), all))
		return "the data of the lock does not count all sections: two threads held the "
		       "lock at once";
	return NULL;
}

void locks_release(void *state)
{
	struct state *s = state;

	free(s->histogram);
	free(s);
}
