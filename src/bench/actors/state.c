/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/actors/actors.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/actors/bodies.h"
#include "bench/actors/crew.h"
#include "kit/pool.h"
#include "kit/shares.h"
#include "machine/threads/affinity.h"
#include "machine/topology/topology.h"

static int compare(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/*
 * Chooses at random the actors that get messages. They are sorted, so that the messages of a
 * thread's actors lie together.
 */
static void choose_active(struct state *s)
{
	for (uint64_t i = 0; i < s->actives; i++)
		s->active[i] = (uint32_t)random_permute(i, s->actors, s->seed);
	qsort(s->active, s->actives, sizeof(*s->active), compare);
}

/* The actor that a message goes to at first. */
static struct actor *actor_of(const struct state *s, uint64_t message)
{
	return &s->actor[s->active[message / s->in_flight]];
}

/* The first actor that belongs to a thread; for thread `threads`: the end. */
static uint64_t first_actor(const struct state *s, unsigned thread)
{
	return thread < s->threads ? share_begin(s->actors, thread, s->threads) : s->actors;
}

static uint64_t first_message(const struct state *s, unsigned thread)
{
	uint64_t i = 0;

	while (i < s->actives && s->active[i] < first_actor(s, thread))
		i++;
	return i * s->in_flight;
}

static enum crew_step step_between(const struct trial *t, unsigned from, unsigned to)
{
	const enum level level = machine_level(t->machine, t->place[from].cpu, t->place[to].cpu);

	if (from == to)
		return CREW_SAME_THREAD;
	if (level <= LEVEL_L3)
		return CREW_SAME_CACHE;
	return t->place[from].node == t->place[to].node ? CREW_SAME_NODE : CREW_ELSEWHERE;
}

static void measure_steps(struct state *s, const struct trial *t)
{
	for (unsigned i = 0; i < s->threads; i++)
		for (unsigned j = 0; j < s->threads; j++)
			s->step[i * s->threads + j] = (unsigned char)step_between(t, i, j);
}

/*
 * Maps items of `bytes` each, on the node of each actor's thread, on the first thread's node, or
 * with pages on all nodes in turn. NULL: no memory.
 */
static void *map_items(const struct state *s, const struct trial *t, const char *name, size_t bytes,
		       uint64_t (*first)(const struct state *, unsigned thread), unsigned home)
{
	struct region *r = region_map(t->arena, name, first(s, s->threads) * bytes, PAGES_BASE);

	if (!r)
		return NULL;
	if (home == HOME_INTERLEAVE)
		region_even(r);
	for (unsigned i = 0; home != HOME_INTERLEAVE && i < s->threads; i++) {
		const size_t begin = first(s, i) * bytes, end = first(s, i + 1) * bytes;

		region_home(r, begin, end - begin, t->place[home == HOME_OWN ? i : 0].node);
	}
	return region_base(r);
}

static bool map_memory(struct state *s, const struct trial *t)
{
	const size_t own = crew_bytes(t->variant->data, s->threads, s->actors);

	s->crew.memory = trial_pieces(t, "queues", 0, s->threads, own, false);
	s->actor = map_items(s, t, "actors", sizeof(*s->actor), first_actor, HOME_OWN);
	s->message = map_items(s, t, "messages", sizeof(*s->message), first_message, HOME_OWN);
	s->states = map_items(s, t, "states", s->stride, first_actor, t->value[HOME].choice);
	return s->crew.memory && s->actor && s->message && s->states;
}

static bool get_memory(struct state *s, const struct trial *t)
{
	s->active = calloc(s->actives, sizeof(*s->active));
	s->step = calloc((size_t)s->threads * s->threads, 1);
	s->waiting = apart_alloc((s->threads + 1) * sizeof(*s->waiting));
	if (!s->active || !s->step || !s->waiting)
		return false;
	choose_active(s);
	return map_memory(s, t);
}

static void take_values(struct state *s, const struct trial *t)
{
	s->actors = t->value[ACTORS].count;
	s->actives = actors_active(t);
	s->in_flight = t->value[IN_FLIGHT].count;
	s->messages = actors_messages(t);
	s->stride = actors_stride(t);
	s->words = actors_words(t);
	s->touched = actors_touched(t);
	s->entries = t->value[ENTRIES].count;
	s->random = t->value[TO].choice == TO_RANDOM;
	s->place = t->place;
	s->threads = actors_threads(t);
	s->seed = t->seed + t->allocation;
	s->rate = t->value[RATE].real;
	s->floating = t->floating;
	s->exact = t->value[MESSAGES].count > 0;
	s->team = t->team;
}

static void give_up(struct state *s, const char *why)
{
	atomic_store(&s->failed, why);
	crew_stop(&s->crew);
}

static void body(void *argument, struct crew_hand *h, struct actor *a, struct message *m)
{
	struct state *s = argument;

	if (!s->entries)
		bodies_walk(a->state, s->words, s->touched, a->ran);
	else if (!bodies_map_use(a->state, a->ran))
		give_up(s, "there was no memory for what a message allocates");
	m->hops++;
	if (s->rate > 0) {
		source_hand_back(&s->source, m);
	} else if (m->hops < s->hops + (m->index < s->rest)) {
		crew_send(h, m,
			  s->random ? &s->actor[s->active[crew_draw(h, (unsigned)s->actives)]] : a);
		return;
	}
	if (atomic_fetch_sub_explicit(&s->left, 1, memory_order_relaxed) == 1)
		crew_stop(&s->crew);
}

static void seat(void *argument, unsigned thread)
{
	const struct state *s = argument;

	if (!s->floating)
		cpuset_set_one(s->place[thread].cpu);
}

static void set_up_crew(struct state *s, const struct trial *t)
{
	/* about 10 us; a thread without a CPU of its own must not spin on another's */
	enum { SPINS = 500 };

	s->crew = (struct crew){ .executor = t->variant->data,
				 .threads = s->threads,
				 .actors = s->actors,
				 .body = body,
				 .argument = s,
				 .seat = seat,
				 .batch = (unsigned)t->value[BATCH].count,
				 .every = t->value[EVERY].count,
				 .newest = t->value[ORDER].choice == ORDER_NEWEST,
				 .spins = t->oversubscribed ? 0 : SPINS,
				 .step = s->step,
				 .memory = s->crew.memory };
}

void *actors_prepare(const struct trial *t)
{
	struct state *s = apart_alloc(sizeof(*s));

	if (!s)
		return NULL;
	take_values(s, t);
	if (!get_memory(s, t)) {
		const int error = errno;

		actors_release(s);
		errno = error;
		return NULL;
	}
	measure_steps(s, t);
	set_up_crew(s, t);
	s->tick = clock_tick();
	if (s->rate > 0)
		source_open(&s->source, s->rate, s->tick);
	return s;
}

/* First touch of the actors of a thread, of their states and messages. */
static void touch(struct state *s, unsigned thread)
{
	const uint64_t messages = first_message(s, thread + 1), actors = first_actor(s, thread + 1);

	for (uint64_t i = first_message(s, thread); i < messages; i++)
		s->message[i].index = i;
	for (uint64_t i = first_actor(s, thread); i < actors; i++) {
		struct actor *a = &s->actor[i];

		a->home = a->on = thread;
		a->state = s->states + i * s->stride;
		memset(a->state, 0, s->stride);
		if (s->entries && !bodies_map_fill(a->state, s->entries))
			atomic_store(&s->failed, "there was no memory for the maps of the actors");
	}
}

void actors_enter(void *state, struct worker *self)
{
	struct state *s = state;

	if (self->index < s->threads) {
		const size_t own = crew_bytes(s->crew.executor, s->threads, s->actors);

		memset(s->crew.memory + self->index * own, 0, own);
		touch(s, self->index);
	}
	team_barrier(s->team);
	if (self->index)
		return;
	crew_open(&s->crew, s->crew.memory, s->seed);
	for (unsigned i = 0; i < s->threads; i++)
		crew_hand(&s->crew, i)->waiting = &s->waiting[i];
}

/* Sends the messages of those actors that belong to a thread. */
static void seed(void *state, struct worker *self)
{
	struct state *s = state;

	for (uint64_t i = 0; i < s->messages; i++) {
		struct actor *a = actor_of(s, i);

		if (a->home == self->index)
			crew_seed(&s->crew, self->index, &s->message[i], a);
	}
}

void actors_reset(void *state)
{
	struct state *s = state;

	crew_start(&s->crew);
	for (unsigned i = 0; i < s->threads; i++)
		histogram_clear(&s->waiting[i]); /* may have times of a warm-up */
	atomic_store(&s->left, s->messages);
	atomic_store(&s->source.handed_back, NULL);
	s->source.free = NULL;
	for (uint64_t i = s->messages; i-- > 0;) {
		s->message[i].hops = 0;
		if (s->rate > 0)
			source_hand_back(&s->source, &s->message[i]);
	}
	if (s->rate == 0)
		team_run(s->team, seed, s);
}

/*
 * Divides the sample's work among the messages in flight, each of which is handled again and again:
 * at least a few times, unless the user set the number. A message is first sent before the sample,
 * so its first handling does not include the cost of sending.
 */
static void share_out(struct state *s)
{
	enum { FEWEST = 4 };
	uint64_t sum = 0;

	for (unsigned i = 0; i < s->threads + (s->rate > 0); i++)
		sum += team_worker(s->team, i)->count;
	if (s->rate > 0)
		atomic_store(&s->left, sum);
	s->hops = sum / s->messages;
	s->rest = sum % s->messages;
	if (s->hops < FEWEST && !s->exact && s->rate == 0) {
		s->hops = FEWEST;
		s->rest = 0;
	}
}

static struct actor *target(void *state, const struct message *m, uint64_t i)
{
	const struct state *s = state;

	if (!s->random)
		return actor_of(s, m->index);
	return &s->actor[s->active[(random_word(s->seed, i) >> 32) * s->actives >> 32]];
}

/*
 * Counts the messages that a worker handled. The first worker also counts for an executor's own
 * threads, which work on after the other workers have returned.
 */
static void count(struct state *s, struct worker *self)
{
	if (!s->crew.executor->own_threads)
		self->done = crew_hand(&s->crew, self->index)->ran;
	else if (!self->index)
		for (unsigned i = 0; i < s->threads; i++)
			team_worker(s->team, i)->done = crew_hand(&s->crew, i)->ran;
}

void actors_work(void *state, struct worker *self)
{
	struct state *s = state;

	if (!self->index)
		share_out(s);
	team_barrier(s->team);
	if (self->index == s->threads) {
		source_send(&s->source, &s->crew, s->hops * s->messages + s->rest, target, s);
		self->done = 0;
		return;
	}
	crew_run(&s->crew, self->index);
	self->failed = atomic_load(&s->failed);
	count(s, self);
}

void actors_release(void *state)
{
	struct state *s = state;

	for (uint64_t i = 0; s->entries && s->states && i < s->actors; i++)
		bodies_map_clear((void *)(s->states + i * s->stride));
	if (s->crew.stride)
		crew_close(&s->crew);
	free(s->active);
	free(s->step);
	free(s->waiting);
	free(s);
}
