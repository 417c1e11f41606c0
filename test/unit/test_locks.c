/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a release of an MCS lock does while the next thread has taken the tail, and is about to say
 * so to the holder. That is a matter of nanoseconds between threads: a signal plays the next one.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>
#include <cmocka.h>

#include "kit/locks.h"

static struct mcs_node holder, next;

static void link_next(int signal)
{
	(void)signal;
	atomic_store_explicit(&holder.next, &next, memory_order_release);
}

static void a_release_waits_for_the_next_one_to_link(void **state)
{
	const struct itimerval soon = { .it_value = { 0, 20000 } };
	struct mcs_lock lock = { &next };

	(void)state;
	next.waiting = true;
	assert_true(signal(SIGALRM, link_next) != SIG_ERR);
	assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
	mcs_lock_release(&lock, &holder);
	assert_false(next.waiting);
	assert_ptr_equal(lock.tail, &next);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_release_waits_for_the_next_one_to_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
