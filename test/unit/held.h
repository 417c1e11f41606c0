/* SPDX-License-Identifier: Apache-2.0 */
/* Holds a thread in a signal handler, wherever it was, until it is released. One at a time. */
#ifndef LOCUS_HELD_H
#define LOCUS_HELD_H

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

static _Atomic bool held_now;
static int held_pipe[2];

static inline void held_wait(int signal)
{
	char byte;

	(void)signal;
	atomic_store(&held_now, true);
	while (read(held_pipe[0], &byte, 1) != 1)
		;
}

static inline void held_open(void)
{
	assert_false(pipe(held_pipe));
	signal(SIGUSR1, held_wait);
}

/* Returns once the thread is held. */
static inline void held_begin(pthread_t thread)
{
	atomic_store(&held_now, false);
	assert_false(pthread_kill(thread, SIGUSR1));
	while (!atomic_load(&held_now))
		sched_yield();
}

static inline void held_end(void)
{
	assert_int_equal(write(held_pipe[1], "", 1), 1);
}

static inline void held_close(void)
{
	close(held_pipe[0]);
	close(held_pipe[1]);
}

#endif
