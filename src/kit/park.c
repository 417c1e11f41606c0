/* SPDX-License-Identifier: Apache-2.0 */
#include "kit/park.h"

#include <errno.h>
#include <linux/futex.h>
#include <math.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* States. park() subtracts 1: it takes a token (TOKEN to NONE), or sleeps (NONE to ASLEEP). */
enum { NONE = 0, TOKEN = 1 };
#define ASLEEP UINT32_MAX

#define NS_PER_S 1000000000L

static struct timespec from_now(double seconds)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += (time_t)seconds;
	t.tv_nsec += (long)((seconds - floor(seconds)) * NS_PER_S);
	if (t.tv_nsec >= NS_PER_S) {
		t.tv_nsec -= NS_PER_S;
		t.tv_sec++;
	}
	return t;
}

/*
 * The kernel compares the state with ASLEEP before it has the thread sleep, so an unpark() in
 * between is not missed. until: of CLOCK_MONOTONIC; NULL: for ever.
 */
static bool take(struct parking *p, const struct timespec *until)
{
	if (atomic_fetch_sub_explicit(&p->state, 1, memory_order_acquire) == TOKEN)
		return true;
	for (;;) {
		uint32_t expected = TOKEN;
		const long woken = syscall(SYS_futex, &p->state, FUTEX_WAIT_BITSET_PRIVATE, ASLEEP,
					   until, NULL, FUTEX_BITSET_MATCH_ANY);

		if (woken && errno == ETIMEDOUT)
			return atomic_exchange_explicit(&p->state, NONE, memory_order_acquire) ==
			       TOKEN;
		if (atomic_compare_exchange_strong_explicit(
			    &p->state, &expected, NONE, memory_order_acquire, memory_order_relaxed))
			return true;
	}
}

void park(struct parking *p)
{
	take(p, NULL);
}

bool park_for(struct parking *p, double seconds)
{
	const struct timespec until = from_now(seconds);

	return take(p, &until);
}

void unpark(struct parking *p)
{
	if (atomic_exchange_explicit(&p->state, TOKEN, memory_order_release) == ASLEEP)
		syscall(SYS_futex, &p->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
