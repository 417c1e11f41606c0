/* SPDX-License-Identifier: Apache-2.0 */
#include "kit/park.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/* States. park() subtracts 1: it takes a token (TOKEN to NONE), or sleeps (NONE to ASLEEP). */
enum { NONE = 0, TOKEN = 1 };
#define ASLEEP UINT32_MAX

/*
 * The kernel compares the state with ASLEEP before it has the thread sleep, so an unpark() in
 * between is not missed.
 */
void park(struct parking *p)
{
	uint32_t expected;

	if (atomic_fetch_sub_explicit(&p->state, 1, memory_order_acquire) == TOKEN)
		return;
	do {
		syscall(SYS_futex, &p->state, FUTEX_WAIT_PRIVATE, ASLEEP, NULL, NULL, 0);
		expected = TOKEN;
	} while (!atomic_compare_exchange_strong_explicit(
		&p->state, &expected, NONE, memory_order_acquire, memory_order_relaxed));
}

void unpark(struct parking *p)
{
	if (atomic_exchange_explicit(&p->state, TOKEN, memory_order_release) == ASLEEP)
		syscall(SYS_futex, &p->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
