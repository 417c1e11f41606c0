/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/sharing/kernels.h"
#include "kit/opaque.h"

#define ADD(WORD)                                                              \
	_Atomic(WORD) *word = place;                                           \
                                                                               \
	(void)own;                                                             \
	for (; n; n--) {                                                       \
		WORD value = atomic_load_explicit(word, memory_order_relaxed); \
                                                                               \
		OPAQUE(value);                                                 \
		atomic_store_explicit(word, value + 1, memory_order_relaxed);  \
	}

#define FETCH_ADD(WORD)                                                                \
	_Atomic(WORD) *word = place;                                                   \
                                                                                       \
	(void)own;                                                                     \
	for (; n; n--) {                                                               \
		WORD value = atomic_fetch_add_explicit(word, 1, memory_order_relaxed); \
                                                                                       \
		OPAQUE(value);                                                         \
	}

__attribute__((noinline)) void update_add(void *place, struct mcs_node *own, uint64_t n)
{
	ADD(uint64_t)
}

__attribute__((noinline)) void update_add_32(void *place, struct mcs_node *own, uint64_t n)
{
	ADD(uint32_t)
}

__attribute__((noinline)) void update_fetch_add(void *place, struct mcs_node *own, uint64_t n)
{
	FETCH_ADD(uint64_t)
}

__attribute__((noinline)) void update_fetch_add_32(void *place, struct mcs_node *own, uint64_t n)
{
	FETCH_ADD(uint32_t)
}

__attribute__((noinline)) void update_compare_exchange(void *place, struct mcs_node *own,
						       uint64_t n)
{
	_Atomic uint64_t *word = place;

	(void)own;
	for (; n; n--) {
		uint64_t value = atomic_load_explicit(word, memory_order_relaxed);

		while (!atomic_compare_exchange_weak_explicit(
			word, &value, value + 1, memory_order_relaxed, memory_order_relaxed))
			;
	}
}

__attribute__((noinline)) void update_mutex(void *place, struct mcs_node *own, uint64_t n)
{
	struct guarded_by_mutex *g = place;

	(void)own;
	for (; n; n--) {
		pthread_mutex_lock(&g->lock);
		g->word++;
		pthread_mutex_unlock(&g->lock);
	}
}

__attribute__((noinline)) void update_spin(void *place, struct mcs_node *own, uint64_t n)
{
	struct guarded_by_spin *g = place;

	(void)own;
	for (; n; n--) {
		spin_lock_acquire(&g->lock);
		g->word++;
		spin_lock_release(&g->lock);
	}
}

__attribute__((noinline)) void update_ticket(void *place, struct mcs_node *own, uint64_t n)
{
	struct guarded_by_ticket *g = place;

	(void)own;
	for (; n; n--) {
		ticket_lock_acquire(&g->lock);
		g->word++;
		ticket_lock_release(&g->lock);
	}
}

__attribute__((noinline)) void update_mcs(void *place, struct mcs_node *own, uint64_t n)
{
	struct guarded_by_mcs *g = place;

	for (; n; n--) {
		mcs_lock_acquire(&g->lock, own);
		g->word++;
		mcs_lock_release(&g->lock, own);
	}
}
