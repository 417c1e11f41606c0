/* SPDX-License-Identifier: Apache-2.0 */
/* Which evidence makes a sample noisy: for a pinned thread, and for one that may move. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "harness/sample/evidence.h"
#include "harness/sample/samples.h"

enum { CPU = 3, OTHER = 4 };

/* The events of a thread in a sample of `wall` seconds. */
struct event {
	double wall, off, delay; /* s */
	uint64_t involuntary, voluntary, minor_faults, major_faults;
	int from, to; /* CPUs */
	bool disturbs, disturbs_floating;
};

static struct attendance of(const struct event *e)
{
	const struct usage before = { .wall = 100,
				      .cpu = 50,
				      .delay = 7,
				      .involuntary = 10,
				      .voluntary = 20,
				      .minor_faults = 30,
				      .major_faults = 40,
				      .on_cpu = e->from };
	struct attendance a = { .before = before, .after = before };

	a.after.wall += e->wall;
	a.after.cpu += e->wall - e->off;
	a.after.delay += e->delay;
	a.after.involuntary += e->involuntary;
	a.after.voluntary += e->voluntary;
	a.after.minor_faults += e->minor_faults;
	a.after.major_faults += e->major_faults;
	a.after.on_cpu = e->to;
	return a;
}

static const struct event events[] = {
	{ .wall = 0.01, .from = CPU, .to = CPU },
	/* a sample may lose 1 % of its time, and 5 us for reading the evidence */
	{ .wall = 0.01, .off = 98e-6, .from = CPU, .to = CPU },
	{ .wall = 0.01, .off = 112e-6, .from = CPU, .to = CPU, .disturbs = true },
	{ .wall = 0.01, .delay = 98e-6, .from = CPU, .to = CPU },
	{ .wall = 0.01, .delay = 112e-6, .from = CPU, .to = CPU, .disturbs = true },
	{ .wall = 1, .off = 0.0098, .from = CPU, .to = CPU },
	{ .wall = 1, .off = 0.0102, .from = CPU, .to = CPU, .disturbs = true },
	{ .wall = 1e-5, .off = 4e-6, .from = CPU, .to = CPU },
	{ .wall = 1e-5, .off = 6e-6, .from = CPU, .to = CPU, .disturbs = true },
	/* work that blocks leaves the CPU by itself; but not while it is ready to run */
	{ .wall = 0.01, .off = 5e-3, .voluntary = 1, .from = CPU, .to = CPU },
	{ .wall = 0.01,
	  .off = 5e-3,
	  .delay = 1e-3,
	  .voluntary = 1,
	  .from = CPU,
	  .to = CPU,
	  .disturbs = true },
	{ .wall = 0.01, .involuntary = 1, .from = CPU, .to = CPU, .disturbs = true },
	{ .wall = 0.01, .minor_faults = 100, .from = CPU, .to = CPU },
	{ .wall = 0.01,
	  .major_faults = 1,
	  .from = CPU,
	  .to = CPU,
	  .disturbs = true,
	  .disturbs_floating = true },
	/* it was elsewhere at one end, or at both */
	{ .wall = 0.01, .from = CPU, .to = OTHER, .disturbs = true },
	{ .wall = 0.01, .from = OTHER, .to = CPU, .disturbs = true },
	{ .wall = 0.01, .from = OTHER, .to = OTHER, .disturbs = true },
};

static void what_disturbs_a_sample(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(events); i++) {
		const struct attendance a = of(&events[i]);
		struct noise n = { 0 };

		if ((noise_witness(&n, &a, CPU, NULL) == SAMPLE_DISTURBED) != events[i].disturbs)
			fail_msg("event %zu", i);
		if ((noise_witness(&n, &a, ANY_CPU, NULL) == SAMPLE_DISTURBED) !=
		    events[i].disturbs_floating)
			fail_msg("event %zu, of a thread that may move", i);
	}
}

/* Without schedstat the delay is not known; the time off the CPU still is. */
static void an_unknown_delay_is_no_disturbance(void **state)
{
	const struct event quiet = { .wall = 0.01, .delay = NAN, .from = CPU, .to = CPU }, off = {
		.wall = 0.01, .off = 1e-3, .delay = NAN, .from = CPU, .to = CPU
	};
	struct attendance a = of(&quiet);
	struct noise n = { 0 };

	(void)state;
	assert_false(noise_witness(&n, &a, CPU, NULL));
	a = of(&off);
	assert_true(noise_witness(&n, &a, CPU, NULL));
}

/*
 * The sum of two pieces of evidence; time on the CPU beyond the wall time, as clocks differ, is no
 * time off it.
 */
static void evidence_is_added_up(void **state)
{
	const struct event one = { 0.01, 1e-3, 2e-3, 1, 2, 3, 4, CPU, OTHER, true, true },
			   other = { 0.01, -1e-6, 1e-3, 10, 20, 30, 40, CPU, CPU, true, true };
	const struct attendance a = of(&one), b = of(&other);
	struct noise n = { 0 };

	(void)state;
	noise_witness(&n, &a, CPU, NULL);
	noise_witness(&n, &b, CPU, NULL);
	assert_true(fabs(n.off_cpu - 1e-3) < 1e-9 && fabs(n.delay - 3e-3) < 1e-9);
	assert_int_equal(n.involuntary, 11);
	assert_int_equal(n.voluntary, 22);
	assert_int_equal(n.minor_faults, 33);
	assert_int_equal(n.major_faults, 44);
	assert_int_equal(n.migrations, 1);
}

/*
 * A core is crowded if it is narrow before a sample or after it, compared with the widest so far.
 * An interrupt may make it seem wider, but not twice in a row.
 */
static void a_crowded_core_is_counted(void **state)
{
	static const struct {
		double before, after, widest;
		bool counted, crowded;
	} samples[] = {
		{ 2.6, 2.6, 2.6, true, false }, /* nothing wider was seen yet */
		{ 4.0, 4.1, 4.0, true, false }, { 3.5, 4.0, 4.0, true, false },
		{ 2.6, 4.0, 4.0, true, true },	{ 4.0, 2.6, 4.0, true, true },
		{ 2.4, 2.6, 4.0, true, true },	{ 41, 3.9, 4.0, true, false },
		{ 4.0, 0, 4.0, false, false }, /* there is no chain for this architecture */
	};
	const struct event none = { .wall = 0.01, .from = CPU, .to = CPU };
	struct noise n = { 0 };
	uint64_t counted = 0, crowded = 0;
	double widest = 0;

	(void)state;
	for (size_t i = 0; i < LENGTH(samples); i++) {
		struct attendance a = of(&none);

		a.width[0] = samples[i].before;
		a.width[1] = samples[i].after;
		assert_int_equal(noise_witness(&n, &a, CPU, &widest),
				 samples[i].crowded ? SAMPLE_CROWDED : 0);
		counted += samples[i].counted;
		crowded += samples[i].crowded;
		if (widest != samples[i].widest || n.seats != counted || n.crowded != crowded)
			fail_msg("sample %zu", i);
	}
	assert_true(fabs(n.narrow - (2.6 + 2.6 + 2.4) / 4.0) < 1e-12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_disturbs_a_sample),
		cmocka_unit_test(an_unknown_delay_is_no_disturbance),
		cmocka_unit_test(evidence_is_added_up),
		cmocka_unit_test(a_crowded_core_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
