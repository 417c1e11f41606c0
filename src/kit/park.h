/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers that sleep until they are woken, on a futex. unpark() leaves a token; park() takes it, or
 * sleeps until there is one. So an unpark() that comes before its park() is not missed, and several
 * of them leave one token, as with Java's LockSupport.
 *
 * Each parking belongs to one thread, which alone parks there; any thread may unpark it. All zero:
 * no token. What was written before unpark() is seen after the park() that takes its token.
 */
#ifndef LOCUS_PARK_H
#define LOCUS_PARK_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/apart.h"

struct parking {
	_Alignas(APART) _Atomic uint32_t state;
};

/* States. park() subtracts 1: it takes a token (token to none), or sleeps (none to asleep). */
enum { PARK_NONE = 0, PARK_TOKEN = 1 };
#define PARK_ASLEEP UINT32_MAX

/*
 * The kernel compares the state with PARK_ASLEEP before it has the thread sleep, so an unpark() in
 * between is not missed.
 */
static inline void park(struct parking *p)
{
	uint32_t expected;

	if (atomic_fetch_sub_explicit(&p->state, 1, memory_order_acquire) == PARK_TOKEN)
		return;
	do {
		syscall(SYS_futex, &p->state, FUTEX_WAIT_PRIVATE, PARK_ASLEEP, NULL, NULL, 0);
		expected = PARK_TOKEN;
	} while (!atomic_compare_exchange_strong_explicit(
		&p->state, &expected, PARK_NONE, memory_order_acquire, memory_order_relaxed));
}

static inline void unpark(struct parking *p)
{
	if (atomic_exchange_explicit(&p->state, PARK_TOKEN, memory_order_release) == PARK_ASLEEP)
		syscall(SYS_futex, &p->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

#endif
