/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arithmetic.h"
#include "bench/actors/biased.h"
#include "bench/actors/crew.h"
#include "kit/random.h"

struct message actor_awake;

/*
 * The offset of a deque's slots in a thread's memory: its hand and the list of others come first.
 */
static size_t slots_at(unsigned threads)
{
	return sizeof(struct crew_hand) + round_up(threads * sizeof(unsigned), APART);
}

size_t crew_bytes(const struct executor *x, unsigned threads, size_t actors)
{
	const size_t slots = x->deque ? deque_slots(actors) * sizeof(struct actor *) : 0;

	return slots_at(threads) + round_up(slots, APART);
}

static enum crew_step step_of(const struct crew *c, unsigned from, unsigned to)
{
	return c->step ? c->step[from * c->threads + to] : CREW_ELSEWHERE;
}

/*
 * Among threads at the same distance, lists the threads after this one first, so that not all
 * threads try the same one.
 */
static void sort_others(struct crew_hand *h, unsigned *others)
{
	const struct crew *c = h->crew;
	unsigned n = 0;

	for (enum crew_step step = CREW_SAME_THREAD; step < CREW_STEPS; step++) {
		for (unsigned i = 1; i < c->threads; i++) {
			const unsigned other = (h->me + i) % c->threads;

			if (step_of(c, h->me, other) == step)
				others[n++] = other;
		}
		h->near[step] = n;
	}
	h->others = others;
}

static void open_hand(struct crew *c, unsigned me, uint64_t random, bool barriers)
{
	struct crew_hand *h = crew_hand(c, me);
	char *at = (char *)h;

	h->crew = c;
	h->me = me;
	h->random = random_word(random, me);
	h->until = c->every;
	sort_others(h, (unsigned *)(void *)(at + sizeof(*h)));
	h->lock.barriers = barriers;
	h->deque.slot = (void *)(at + slots_at(c->threads));
	h->deque.mask = deque_slots(c->actors) - 1;
}

void crew_open(struct crew *c, void *memory, uint64_t random)
{
	const bool barriers = c->executor->biased && biased_barriers();

	c->memory = memory;
	c->stride = crew_bytes(c->executor, c->threads, c->actors);
	pthread_mutex_init(&c->mutex, NULL);
	pthread_cond_init(&c->filled, NULL);
	c->shared = (struct actor_queue){ NULL, NULL };
	atomic_init(&c->sleepers, 0);
	for (unsigned i = 0; i < c->threads; i++)
		open_hand(c, i, random, barriers);
	crew_start(c);
}

void crew_close(struct crew *c)
{
	pthread_cond_destroy(&c->filled);
	pthread_mutex_destroy(&c->mutex);
}

void crew_start(struct crew *c)
{
	for (unsigned i = 0; i < c->threads; i++) {
		struct crew_hand *h = crew_hand(c, i);

		h->ran = h->steals = h->moves = h->idle = h->voluntary = h->involuntary = 0;
		memset(h->step, 0, sizeof(h->step));
	}
	atomic_store(&c->stopped, false);
}

void crew_run(struct crew *c, unsigned thread)
{
	struct crew_hand *h = crew_hand(c, thread);

	h->began = clock_ticks();
	c->executor->run(h);
	h->ended = clock_ticks();
}

void crew_stop(struct crew *c)
{
	atomic_store(&c->stopped, true);
	if (c->executor->stop)
		c->executor->stop(c);
	else
		for (unsigned i = 0; i < c->threads; i++)
			crew_wake(c, i);
}

static void time_it(const struct crew *c, uint64_t *until, struct message *m)
{
	m->sent = 0;
	if (!c->every || --*until)
		return;
	*until = c->every;
	m->sent = clock_ticks();
}

void crew_send(struct crew_hand *h, struct message *m, struct actor *to)
{
	struct crew *c = h->crew;

	time_it(c, &h->until, m);
	if (to == h->current)
		actor_keep(to, m);
	else if (actor_post(to, m))
		c->executor->schedule(c, h, to);
}

void crew_send_in(struct crew *c, struct message *m, struct actor *to, uint64_t due)
{
	m->sent = due;
	if (actor_post(to, m))
		c->executor->schedule(c, NULL, to);
}

void crew_seed(struct crew *c, unsigned thread, struct message *m, struct actor *to)
{
	m->sent = 0;
	if (actor_post(to, m))
		c->executor->schedule(c, crew_hand(c, thread), to);
}

/*
 * No wake-up is lost: a sender first puts the actor where it will be found, and then reads
 * `asleep`; a thread first sets `asleep`, and then looks for actors. All four accesses are
 * sequentially consistent, so at least one of the two sees the other.
 */
bool crew_wake(struct crew *c, unsigned thread)
{
	struct crew_hand *h = crew_hand(c, thread);

	if (!atomic_load(&h->asleep) || !atomic_exchange(&h->asleep, false))
		return false;
	unpark(&h->parking);
	return true;
}

void crew_wake_one(struct crew *c)
{
	if (!atomic_load(&c->sleepers))
		return;
	for (unsigned i = 0; i < c->threads; i++)
		if (crew_wake(c, i))
			return;
}

static struct actor *sleep_for_one(struct crew_hand *h)
{
	struct crew *c = h->crew;
	struct actor *a;

	atomic_store(&h->asleep, true);
	atomic_fetch_add(&c->sleepers, 1);
	a = c->executor->next(h);
	if (!a && !atomic_load(&c->stopped)) {
		park(&h->parking);
		a = c->executor->next(h);
	}
	atomic_fetch_sub(&c->sleepers, 1);
	atomic_store(&h->asleep, false);
	return a;
}

struct actor *crew_idle(struct crew_hand *h)
{
	const uint64_t began = clock_ticks();
	struct crew *c = h->crew;
	struct actor *a = NULL;

	for (unsigned turn = 0; !a && !crew_stopped(c); turn++) {
		if (turn < c->spins) {
			cpu_pause();
			a = c->executor->next(h);
		} else {
			a = sleep_for_one(h);
		}
	}
	h->idle += clock_ticks() - began;
	return a;
}

bool crew_deliver(struct crew *c, unsigned thread, struct actor *a)
{
	struct crew_hand *h = crew_hand(c, thread);
	struct actor *top = atomic_load_explicit(&h->inbox, memory_order_relaxed);

	do
		a->next = top;
	while (!atomic_compare_exchange_weak(&h->inbox, &top, a));
	return crew_wake(c, thread);
}

unsigned crew_empty_inbox(struct crew_hand *of, struct actor_queue *to)
{
	struct actor *top, *list = NULL;
	unsigned n = 0;

	if (!atomic_load(&of->inbox))
		return 0;
	for (top = atomic_exchange_explicit(&of->inbox, NULL, memory_order_acquire); top;) {
		struct actor *below = top->next;

		top->next = list;
		list = top;
		top = below;
	}
	while (list) {
		struct actor *next = list->next;

		actor_queue_add(to, list);
		list = next;
		n++;
	}
	return n;
}

void crew_moved(struct crew_hand *h, struct actor *a)
{
	h->step[step_of(h->crew, a->on, h->me)]++;
	a->on = h->me;
}

/* ---- the source ---- */

/* Looks at the clock before the sender yields: it may have to share its CPU. */
enum { LOOKS = 1000 };

void source_open(struct source *s, double rate, double tick)
{
	s->free = NULL;
	s->ticks = 1 / (rate * tick);
	atomic_init(&s->handed_back, NULL);
}

static struct message *take(struct source *s)
{
	struct message *m;

	if (!s->free)
		s->free = atomic_exchange_explicit(&s->handed_back, NULL, memory_order_acquire);
	m = s->free;
	if (m)
		s->free = m->next;
	return m;
}

/* The next message, once it is due; NULL: the crew is stopped. */
static struct message *wait_for(struct source *s, const struct crew *c, uint64_t due)
{
	struct message *m = NULL;

	for (unsigned turn = 0; !crew_stopped(c); turn++) {
		if (!m)
			m = take(s);
		if (m && clock_ticks() >= due)
			return m;
		relax(turn, LOOKS);
	}
	if (m)
		source_hand_back(s, m);
	return NULL;
}

void source_send(struct source *s, struct crew *c, uint64_t n,
		 struct actor *(*to)(void *, const struct message *, uint64_t i), void *argument)
{
	const uint64_t began = clock_ticks();

	for (uint64_t i = 0; i < n; i++) {
		const uint64_t due = began + (uint64_t)((double)i * s->ticks);
		struct message *m = wait_for(s, c, due);

		if (!m)
			return;
		crew_send_in(c, m, to(argument, m, i), c->every && i % c->every == 0 ? due : 0);
	}
}

/* ---- barriers of biased locks ---- */

bool biased_barriers(void)
{
	return !syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
}

void biased_barrier(void)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}
