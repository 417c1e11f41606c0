/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/locks/kinds.h"

#include <pthread.h>
#include <string.h>

#include "kit/opaque.h"
#include "machine/clock.h"

#define INLINE static inline __attribute__((always_inline))
#define RARE   static __attribute__((noinline, cold))

/* ---- what is timed ---- */

RARE void note_wait(struct visitor *v, uint64_t asked)
{
	v->wait[v->waits++ % KINDS_KEPT] = clock_ticks_now() - asked;
}

/* The clocks of two CPUs may differ by more than a handover takes: then it counts as 0. */
RARE void note_handover(struct visitor *v, unsigned last)
{
	const unsigned char across = v->distance[last];
	const uint64_t left = *v->left, now = clock_ticks_now();
	const uint64_t i = v->handovers % KINDS_KEPT;

	if (!left || across == DISTANCE_SELF)
		return;
	v->handover[i] = now > left ? now - left : 0;
	v->across[i] = across;
	v->handovers++;
}

RARE void note_leaving(struct visitor *v)
{
	*v->left = clock_ticks_now();
}

/* ---- sections ---- */

/*
 * Steps of work: dependent multiplications. A section's work begins with a value that the lock
 * guards. Otherwise the core would speculate and do the work while it still waits for the lock, and
 * short sections would hide the handover.
 */
INLINE uint64_t work(uint64_t value, uint64_t steps)
{
	for (; steps; steps--) {
		value *= UINT64_C(0x9e3779b97f4a7c15);
		OPAQUE(value);
	}
	return value;
}

/* A section that writes; *last: the worker that wrote before it. */
INLINE uint64_t change(struct visitor *v, uint64_t value, unsigned *last)
{
	struct guarded *g = v->guarded;
	const uint64_t count = g->count;

	*last = g->stamp % KINDS_MOST_THREADS;
	if (__builtin_expect(!(count & (v->every - 1)), 0))
		note_handover(v, *last);
	g->count = count + 1;
	g->stamp = (count + 1) << KINDS_WORKER_BITS | v->index;
	for (uint64_t i = 1; i < v->lines; i++)
		++*line_of(v, i);
	value = work(value + count, v->section);
	if (__builtin_expect(!((count + 1) & (v->every - 1)), 0))
		note_leaving(v);
	return value;
}

/* A section that reads: it never sees another section half done. */
INLINE uint64_t look(struct visitor *v, uint64_t value)
{
	const struct guarded *g = v->guarded;
	const uint64_t count = g->count;

	v->torn += g->stamp >> KINDS_WORKER_BITS != count << KINDS_WORKER_BITS >> KINDS_WORKER_BITS;
	for (uint64_t i = 1; i < v->lines; i++)
		v->torn += *line_of(v, i) != count;
	return work(value + count, v->section);
}

typedef void lock_operation(struct visitor *);

/*
 * Values that change at each turn stay in registers, so that they do not wait for the lock's
 * stores.
 */
INLINE void visit(struct visitor *v, uint64_t n, lock_operation *acquire, lock_operation *release,
		  lock_operation *read, lock_operation *unread)
{
	uint64_t value = v->value, asked = 0;
	unsigned share = v->share, until = v->until, last;

	for (; n; n--) {
		const bool timed = !--until, reads = (share += v->reads) >= 100;

		if (__builtin_expect(timed, 0)) {
			until = v->every;
			asked = clock_ticks_now();
		}
		if (reads) {
			share -= 100; /* spread evenly over all turns */
			read(v);
			/* otherwise clang merges both calls into one by pointer */
			__asm__ volatile("");
		} else {
			acquire(v);
		}
		if (__builtin_expect(timed, 0))
			note_wait(v, asked);
		if (reads) {
			value = look(v, value);
			unread(v);
		} else {
			value = change(v, value, &last);
			release(v);
			v->from[last]++;
		}
		value = work(value, v->pause);
	}
	v->value = value;
	v->share = share;
	v->until = until;
}

/* ---- kinds ---- */

static void init_mutex(void *lock, struct clh_node *unused)
{
	(void)unused;
	pthread_mutex_init(lock, NULL);
}

static void init_rwlock(void *lock, struct clh_node *unused)
{
	(void)unused;
	pthread_rwlock_init(lock, NULL);
}

static void init_clh(void *lock, struct clh_node *idle)
{
	clh_lock_init(lock, idle);
}

INLINE void write_flags(struct visitor *v)
{
	flags_lock_write(v->lock);
	for (unsigned i = 0; i < v->threads; i++)
		flags_lock_await(&post_of(v, i)->reading);
}

/*
 * A kind of lock: how a visitor v takes and releases it to write, and to read; then the members of
 * struct kind from `init` on.
 */
#define KIND(NAME, WRITE, UNWRITE, READ, UNREAD, ...)                                       \
	INLINE void write_##NAME##_lock(struct visitor *v)                                  \
	{                                                                                   \
		WRITE;                                                                      \
	}                                                                                   \
	INLINE void unwrite_##NAME##_lock(struct visitor *v)                                \
	{                                                                                   \
		UNWRITE;                                                                    \
	}                                                                                   \
	INLINE void read_##NAME##_lock(struct visitor *v)                                   \
	{                                                                                   \
		READ;                                                                       \
	}                                                                                   \
	INLINE void unread_##NAME##_lock(struct visitor *v)                                 \
	{                                                                                   \
		UNREAD;                                                                     \
	}                                                                                   \
	static __attribute__((noinline)) void visit_##NAME(struct visitor *v, uint64_t n)   \
	{                                                                                   \
		visit(v, n, write_##NAME##_lock, unwrite_##NAME##_lock, read_##NAME##_lock, \
		      unread_##NAME##_lock);                                                \
	}                                                                                   \
	const struct kind kind_##NAME = { visit_##NAME, __VA_ARGS__ };
/* A lock without a mode for readers, who take it as writers do. */
#define EXCLUSIVE(NAME, TAKE, RELEASE, ...) KIND(NAME, TAKE, RELEASE, TAKE, RELEASE, __VA_ARGS__)

EXCLUSIVE(mutex, pthread_mutex_lock(v->lock), pthread_mutex_unlock(v->lock), init_mutex,
	  sizeof(pthread_mutex_t), false)
EXCLUSIVE(spin, spin_lock_acquire(v->lock), spin_lock_release(v->lock), NULL,
	  sizeof(struct spin_lock), false)
EXCLUSIVE(ticket, ticket_lock_acquire(v->lock), ticket_lock_release(v->lock), NULL,
	  sizeof(struct ticket_lock), false)
EXCLUSIVE(mcs, mcs_lock_acquire(v->lock, &own_post(v)->mcs),
	  mcs_lock_release(v->lock, &own_post(v)->mcs), NULL, sizeof(struct mcs_lock), false)
EXCLUSIVE(clh, clh_lock_acquire(v->lock, &v->clh), clh_lock_release(&v->clh), init_clh,
	  sizeof(struct clh_lock), false)
EXCLUSIVE(cohort, cohort_lock_acquire(v->lock, v->cohort), cohort_lock_release(v->lock, v->cohort),
	  NULL, sizeof(struct cohort_lock), true)
KIND(rwlock, pthread_rwlock_wrlock(v->lock), pthread_rwlock_unlock(v->lock),
     pthread_rwlock_rdlock(v->lock), pthread_rwlock_unlock(v->lock), init_rwlock,
     sizeof(pthread_rwlock_t), false)
KIND(flags, write_flags(v), flags_lock_unwrite(v->lock),
     flags_lock_read(v->lock, &own_post(v)->reading), flags_lock_unread(&own_post(v)->reading),
     NULL, sizeof(struct flags_lock), true)

unsigned kinds_every(uint64_t steps)
{
	enum { SHORT = 32 }; /* steps that take about as long as reading a clock twice */
	unsigned every = KINDS_MOST_EVERY;

	for (; steps >= SHORT && every > KINDS_LEAST_EVERY; steps /= 2)
		every /= 2;
	return every;
}

void kinds_begin(struct visitor *v)
{
	for (unsigned i = 0; i < v->threads; i++)
		v->wrote += v->from[i];
	memset(v->from, 0, v->threads * sizeof(*v->from));
	v->waits = v->handovers = 0;
}
