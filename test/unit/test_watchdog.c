/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watchdog's last resort: closing the books may take longer on a busy machine, but must not
 * wait for ever. Each case is a process, whose exit status tells which of the two ended it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "bounded.h"
#include "machine/clock.h"
#include "machine/watchdog.h"

enum { CLOSED = 7 };
#define WORK 1.8 /* s: longer than the last resort of one second */

static int works(void *argument, int signal, const char *what)
{
	const double end = clock_now() + WORK;

	(void)argument, (void)signal, (void)what;
	while (clock_now() < end)
		continue;
	return CLOSED;
}

/* As under a quota that others use up: the thread is ready, but gets no CPU time. */
static bool starved;

int clock_gettime(clockid_t clock, struct timespec *t)
{
	if (!starved || clock >= 0) /* clocks of threads are negative */
		return (int)syscall(SYS_clock_gettime, clock, t);
	*t = (struct timespec){ 0 };
	return 0;
}

static int hangs(void *argument, int signal, const char *what)
{
	(void)argument, (void)signal, (void)what;
	for (;;)
		pause();
	return CLOSED;
}

static int closes(void *argument, int signal, const char *what)
{
	(void)argument, (void)signal, (void)what;
	return CLOSED;
}

/* A launcher that does not answer. */
static void never(void)
{
	for (;;)
		pause();
}

static void (*leave)(void); /* the watch's */

/* Whether main works on the books before it leaves them. */
static bool busy;

/* The exit status of a process whose main thread does not come back. */
static int status_of(int (*cut)(void *, int, const char *))
{
	const struct watch watch = { .deadline = clock_now(), .cut = cut, .leave = leave };
	const pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (!child) {
		if (watchdog_start(&watch))
			_exit(EXIT_SUCCESS);
		if (busy)
			works(NULL, 0, NULL);
		watchdog_away("away");
		for (;;)
			pause();
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void what_needs_time_gets_it(void **state)
{
	(void)state;
	assert_int_equal(status_of(works), CLOSED);
}

static void main_is_waited_for(void **state)
{
	(void)state;
	busy = true;
	assert_int_equal(status_of(works), CLOSED);
	busy = false;
}

static void what_waits_for_a_cpu_is_waited_for(void **state)
{
	(void)state;
	starved = true;
	assert_int_equal(status_of(works), CLOSED);
	assert_int_equal(status_of(hangs), EXIT_FAILURE);
	starved = false;
}

static void what_hangs_is_given_up(void **state)
{
	(void)state;
	assert_int_equal(status_of(hangs), EXIT_FAILURE);
}

static void a_deaf_launcher_does_not_change_the_status(void **state)
{
	(void)state;
	leave = never;
	assert_int_equal(status_of(closes), CLOSED);
	leave = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_needs_time_gets_it),
		cmocka_unit_test(main_is_waited_for),
		cmocka_unit_test(what_waits_for_a_cpu_is_waited_for),
		cmocka_unit_test(what_hangs_is_given_up),
		cmocka_unit_test(a_deaf_launcher_does_not_change_the_status),
	};

	return cmocka_run_group_tests(tests, begin_bounded, end_bounded);
}
