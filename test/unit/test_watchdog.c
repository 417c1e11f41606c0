/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watchdog's last resort: closing the books may take longer on a busy machine, but not wait for
 * ever. Each case is a process, whose exit status tells which of the two ended it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "bounded.h"
#include "machine/clock.h"
#include "machine/watchdog.h"

enum { CLOSED = 7 };
#define WORK 1.8 /* s: more than the last resort of one second */

static int works(void *argument, int signal, const char *what)
{
	const double end = clock_now() + WORK;

	(void)argument, (void)signal, (void)what;
	while (clock_now() < end)
		continue;
	return CLOSED;
}

static int hangs(void *argument, int signal, const char *what)
{
	(void)argument, (void)signal, (void)what;
	for (;;)
		pause();
	return CLOSED;
}

/* The exit status of a process whose main thread does not come back. */
static int status_of(int (*cut)(void *, int, const char *))
{
	const struct watch watch = { .deadline = clock_now(), .cut = cut };
	const pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (!child) {
		if (watchdog_start(&watch))
			_exit(EXIT_SUCCESS);
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

static void what_hangs_is_given_up(void **state)
{
	(void)state;
	assert_int_equal(status_of(hangs), EXIT_FAILURE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_needs_time_gets_it),
		cmocka_unit_test(what_hangs_is_given_up),
	};

	return cmocka_run_group_tests(tests, begin_bounded, end_bounded);
}
