/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The length of a core's cycle: the time of a chain divided by its links. The clock is this file's
 * own: each reading is a step after the one before, so no result depends on the machine's speed.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <cmocka.h>

#include "code.h"
#include "machine/clock.h"

enum { STEPS = 6 };
static long step[STEPS]; /* ns since the reading before; used in turn */
static unsigned readings;
static long now;

int clock_gettime(clockid_t clock, struct timespec *t)
{
	(void)clock;
	now += step[readings++ % STEPS];
	*t = (struct timespec){ .tv_sec = 1000 + now / 1000000000, .tv_nsec = now % 1000000000 };
	return 0;
}

/* The time within each of three tries; any time may pass between tries. */
static void tries_take(long a, long b, long c)
{
	const long steps[STEPS] = { 77, a, 1234567, b, 5, c };

	memcpy(step, steps, sizeof(step));
	readings = 0;
}

static bool is_known(void)
{
	tries_take(1, 1, 1);
	return clock_cycle(16) > 0;
}

static void a_cycle_is_the_time_of_a_link(void **state)
{
	(void)state;
	if (!is_known()) {
		print_message("# %s\n", clock_chain());
		skip();
	}
	tries_take(16000, 16000, 16000);
	assert_true(fabs(clock_cycle(49152) / (16e-6 / 49152) - 1) < 1e-6);
	tries_take(1000000, 1000000, 1000000);
	assert_true(fabs(clock_cycle(1600000) / (1e-3 / 1600000) - 1) < 1e-6);
}

static void the_quickest_try_counts(void **state)
{
	static const long tries[][3] = { { 1000, 3000, 2000 },
					 { 3000, 1000, 2000 },
					 { 3000, 2000, 1000 } };

	(void)state;
	if (!is_known())
		skip();
	for (unsigned i = 0; i < 3; i++) {
		tries_take(tries[i][0], tries[i][1], tries[i][2]);
		assert_true(fabs(clock_cycle(1600) / (1e-6 / 1600) - 1) < 1e-6);
	}
}

/* Four times as many independent operations as links, by the quicker of two chains. */
static void the_width_is_operations_a_cycle(void **state)
{
	(void)state;
	if (!is_known())
		skip();
	tries_take(1000, 1000, 1000);
	assert_true(fabs(clock_width(2048) / 4 - 1) < 1e-9);
	tries_take(1000, 2000, 1000);
	assert_true(fabs(clock_width(2048) / 2 - 1) < 1e-9);
	tries_take(9000, 2000, 1000);
	assert_true(fabs(clock_width(2048) / 2 - 1) < 1e-9);
	tries_take(1000, 2000, 9000);
	assert_true(fabs(clock_width(2048) / 2 - 1) < 1e-9);
}

/* The chain is a loop of sixteen links, and contains nothing slower than the loop's own count. */
static void a_turn_of_the_chain_has_sixteen_links(void **state)
{
	static const struct expectation expected = {
		"clock_cycle", "xor eor", "", 16, "sub subs add adds dec inc cmp jne jb ja b.ne"
	};
	static struct code code;

	(void)state;
	disassemble("clock_cycle", &code);
	if (!PLAIN || !is_known() || !code.n) {
		print_message("# needs objdump, and code that is optimized without sanitizers\n");
		skip();
	}
	assert_true(has_loop(&expected, &code));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cycle_is_the_time_of_a_link),
		cmocka_unit_test(the_quickest_try_counts),
		cmocka_unit_test(the_width_is_operations_a_cycle),
		cmocka_unit_test(a_turn_of_the_chain_has_sixteen_links),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
