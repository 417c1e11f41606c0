/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/sharing/futex_lock.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * It is taken as awaited, since others may sleep, too. The kernel compares the state before it has
 * the thread sleep, so a release in between is not missed.
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
