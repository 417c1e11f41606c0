/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* lesson false-sharing */
#define FETCH_ADD(WORD)                                                                \
	_Atomic(WORD) *word = place;                                                   \
                                                                                       \
	(void)own;                                                                     \
	for (; n; n--) {                                                               \
		WORD value = atomic_fetch_add_explicit(word, 1, memory_order_relaxed); \
                                                                                       \
		OPAQUE(value);                                                         \
	}
/* lesson ends */

/* Repeats the update until the exchange succeeds. */
#define COMPARE_EXCHANGE(WORD)                                                                \
	_Atomic(WORD) *word = place;                                                          \
                                                                                              \
	(void)own;                                                                            \
	for (; n; n--) {                                                                      \
		WORD value = atomic_load_explicit(word, memory_order_relaxed);                \
                                                                                              \
		while (!atomic_compare_exchange_weak_explicit(                                \
			word, &value, value + 1, memory_order_relaxed, memory_order_relaxed)) \
			;                                                                     \
	}

/* n critical sections, each of which does INSIDE. */
#define UNDER_LOCK(KIND, ACQUIRE, RELEASE, INSIDE) \
	struct guarded_by_##KIND *g = place;       \
                                                   \
	(void)own;                                 \
	for (; n; n--) {                           \
		ACQUIRE;                           \
		INSIDE;                            \
		RELEASE;                           \
	}
#define UNDER_MUTEX(INSIDE) \
	UNDER_LOCK(mutex, pthread_mutex_lock(&g->lock), pthread_mutex_unlock(&g->lock), INSIDE)
#define UNDER_SPIN(INSIDE) \
	UNDER_LOCK(spin, spin_lock_acquire(&g->lock), spin_lock_release(&g->lock), INSIDE)
#define UNDER_TICKET(INSIDE) \
	UNDER_LOCK(ticket, ticket_lock_acquire(&g->lock), ticket_lock_release(&g->lock), INSIDE)
#define UNDER_MCS(INSIDE) \
	UNDER_LOCK(mcs, mcs_lock_acquire(&g->lock, own), mcs_lock_release(&g->lock, own), INSIDE)
#define UNDER_FUTEX(INSIDE) \
	UNDER_LOCK(futex, futex_lock_acquire(&g->lock), futex_lock_release(&g->lock), INSIDE)

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
	COMPARE_EXCHANGE(uint64_t)
}

__attribute__((noinline)) void update_compare_exchange_32(void *place, struct mcs_node *own,
							  uint64_t n)
{
	COMPARE_EXCHANGE(uint32_t)
}

__attribute__((noinline)) void update_mutex(void *place, struct mcs_node *own, uint64_t n)
{
	UNDER_MUTEX(g->word++)
}

__attribute__((noinline)) void empty_mutex(void *place, struct mcs_node *own, uint64_t n)
{
	UNDER_MUTEX((void)0)
}

__attribute__((noinline)) void update_spin(void *place, struct mcs_node *own, uint64_t n)
{
	UNDER_SPIN(g->word++)
}

__attribute__((noinline)) void empty_spin(void *place, struct mcs_node *own, uint64_t n)
{
	UNDER_SPIN((void)0)
}

__attribute__((noinline)) void update_ticket(void *place, struct mcs_node *own, uint64_t n)
{
	UNDER_TICKET(g->word++)
}

__attribute__((noinline)) void empty_ticket(void *place, struct mcs_node *own, uint64_t n)
{
	UNDER_TICKET((void)0)
}

__attribute__((noinline)) void update_mcs(void *place, struct mcs_node *own, uint64_t n)
{
	UNDER_MCS(g->word++)
}

__attribute__((noinline)) void empty_mcs(void *place, struct mcs_node *own, uint64_t n)
{
	UNDER_MCS((void)0)
}

__attribute__((noinline)) void update_futex(void *place, struct mcs_node *own, uint64_t n)
{
	UNDER_FUTEX(g->word++)
}

__attribute__((noinline)) void empty_futex(void *place, struct mcs_node *own, uint64_t n)
{
	UNDER_FUTEX((void)0)
}

/*
 * Takes the lock in state `awaited`, since others may sleep, too. The kernel compares the state
 * before the thread sleeps, so a release in between is not missed.
 */
void futex_lock_wait(struct futex_lock *l)
{
	while (atomic_exchange_explicit(&l->state, FUTEX_LOCK_AWAITED, memory_order_acquire) !=
	       FUTEX_LOCK_FREE)
		syscall(SYS_futex, &l->state, FUTEX_WAIT_PRIVATE, FUTEX_LOCK_AWAITED, NULL, NULL,
			0);
}

void futex_lock_wake(struct futex_lock *l)
{
	syscall(SYS_futex, &l->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
