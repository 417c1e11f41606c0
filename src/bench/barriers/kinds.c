/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/barriers/kinds.h"
#include "base/relax.h"
#include "machine/clock.h"

#define INLINE static inline __attribute__((always_inline))

/* Waits in barrier number n. */
typedef void barrier_wait(struct barrier *, unsigned me, uint64_t n);

INLINE struct post *post_of(const struct barrier *b, unsigned thread)
{
	return (struct post *)(b->posts + thread * b->page);
}

INLINE void await(const struct barrier *b, _Atomic uint64_t *word, uint64_t n)
{
	for (unsigned turn = 0; atomic_load_explicit(word, memory_order_acquire) < n; turn++)
		relax(turn, b->spins);
}

INLINE void tell(_Atomic uint64_t *word, uint64_t n)
{
	atomic_store_explicit(word, n, memory_order_release);
}

/* All count themselves on one line, and wait for the last one to write another. */
INLINE void wait_central(struct barrier *b, unsigned me, uint64_t n)
{
	struct post *p = post_of(b, 0);

	(void)me;
	if (atomic_fetch_add_explicit(&p->arrivals, 1, memory_order_acq_rel) + 1 == n * b->threads)
		tell(&p->leave, n);
	else
		await(b, &p->leave, n);
}

/*
 * Arrivals go up a tree with four children a node, leaves down one with two: Mellor-Crummey and
 * Scott (1991), section 3.3.
 */
INLINE void wait_tree(struct barrier *b, unsigned me, uint64_t n)
{
	struct post *p = post_of(b, me);

	for (unsigned i = 0; i < KINDS_CHILDREN && KINDS_CHILDREN * me + 1 + i < b->threads; i++)
		await(b, &p->child[i], n);
	if (me) {
		tell(&post_of(b, (me - 1) / KINDS_CHILDREN)->child[(me - 1) % KINDS_CHILDREN], n);
		await(b, &p->leave, n);
	}
	for (unsigned child = 2 * me + 1; child <= 2 * me + 2 && child < b->threads; child++)
		tell(&post_of(b, child)->leave, n);
}

/*
 * In round r each thread tells the one 2^r further on: Hensgen, Finkel and Manber (1988), in
 * Mellor-Crummey and Scott (1991), section 3.2.
 */
INLINE void wait_dissemination(struct barrier *b, unsigned me, uint64_t n)
{
	struct post *p = post_of(b, me);

	for (unsigned r = 0, far = 1; far < b->threads; r++, far *= 2) {
		tell(&post_of(b, (me + far) % b->threads)->round[r].arrived, n);
		await(b, &p->round[r].arrived, n);
	}
}

INLINE void wait_library(struct barrier *b, unsigned me, uint64_t n)
{
	(void)me, (void)n;
	pthread_barrier_wait(&b->library);
}

INLINE void wait_openmp(struct barrier *b, unsigned me, uint64_t n)
{
	(void)b, (void)me, (void)n;
#pragma omp barrier
}

INLINE void pass(struct barrier *b, struct visitor *v, uint64_t n, barrier_wait *wait)
{
	const uint64_t every = n / KINDS_KEPT > KINDS_EVERY ? n / KINDS_KEPT : KINDS_EVERY;
	uint64_t number = v->passed;

	v->kept = 0;
	while (n) {
		const uint64_t now = n < every ? n : every;

		for (uint64_t i = 0; i < now; i++)
			wait(b, v->index, ++number);
		if (v->kept < KINDS_KEPT)
			v->left[v->kept++] = clock_ticks_now();
		n -= now;
	}
	v->passed = number;
}

INLINE void check(struct barrier *b, struct visitor *v, struct visitor *all, uint64_t n,
		  barrier_wait *wait)
{
	for (uint64_t end = v->passed + n; v->passed < end;) {
		const uint64_t number = ++v->passed;

		atomic_store_explicit(&v->reached, number, memory_order_relaxed);
		wait(b, v->index, number);
		for (unsigned i = 0; i < b->threads; i++)
			if (atomic_load_explicit(&all[i].reached, memory_order_relaxed) < number)
				v->early = true;
	}
}

#define KIND(NAME, OF_OPENMP)                                                                   \
	static __attribute__((noinline)) void pass_##NAME(struct barrier *b, struct visitor *v, \
							  uint64_t n)                           \
	{                                                                                       \
		pass(b, v, n, wait_##NAME);                                                     \
	}                                                                                       \
	static void check_##NAME(struct barrier *b, struct visitor *v, struct visitor *all,     \
				 uint64_t n)                                                    \
	{                                                                                       \
		check(b, v, all, n, wait_##NAME);                                               \
	}                                                                                       \
	const struct kind kind_##NAME = { pass_##NAME, check_##NAME, OF_OPENMP };

KIND(central, false)
KIND(tree, false)
KIND(dissemination, false)
KIND(library, false)
KIND(openmp, true)
