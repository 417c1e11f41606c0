/* SPDX-License-Identifier: Apache-2.0 */
/* How a trial is measured: the bounds of work, roles, seats, fresh allocations, failures. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "diary.h"
#include "machine/threads/affinity.h"

static void test_life_of_a_trial(void **state)
{
	struct bench b;

	(void)state;
	run(&b, by_count, 2, (struct benchmark){ ROWS(roles, by_units) });
	assert_int_equal(b.diary.prepared, 2);
	assert_int_equal(b.diary.entered, 2);
	assert_int_equal(b.diary.verified, 2);
	assert_int_equal(b.diary.released, 2);
	assert_true(b.diary.reset >= ALLOCATIONS * BATCHES * SAMPLES);
	assert_int_equal(b.series.samples.n, ALLOCATIONS * BATCHES * SAMPLES);
	assert_int_equal(b.series.samples.batches, ALLOCATIONS * BATCHES);
	assert_int_equal(b.series.samples.batch[BATCHES].allocation, 1);
	for (size_t i = 0; i < b.series.samples.n; i++)
		assert_true(b.series.samples.value[0][i] == (double)(i % (BATCHES * SAMPLES)));
	end(&b);
}

static void test_a_deadline_ends_the_work(void **state)
{
	struct bench b;

	(void)state;
	run(&b, by_flag, 2, (struct benchmark){ ROWS(roles, timed) });
	/* no time if the deadline passed before anybody had begun, on a slow machine */
	for (size_t i = 0; i < b.series.samples.n; i++)
		assert_true(isnan(b.series.samples.time[i]) || b.series.samples.time[i] > 0);
	assert_true(b.diary.of[0].count == UINT64_MAX);
	end(&b);
}

static void test_work_that_ends_by_itself(void **state)
{
	struct bench b;

	(void)state;
	run(&b, to_the_end, 2, (struct benchmark){ ROWS(roles, to_completion) });
	for (size_t i = 0; i < b.series.samples.n; i++)
		assert_true(b.series.samples.time[i] >= 0.99e-6);
	end(&b);
}

/* One worker has a count; the others work until it is done, and their units do not count. */
static void test_roles(void **state)
{
	struct bench b;

	(void)state;
	run(&b, by_role, THREADS, (struct benchmark){ ROWS(roles, roles) });
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(b.diary.of[i].role, i > 0);
	assert_int_equal(b.diary.of[0].count, b.series.units);
	assert_true(b.diary.of[1].count == UINT64_MAX);
	end(&b);
}

/* A variant's roles replace those of its benchmark. */
static void test_roles_of_a_variant(void **state)
{
	static const struct role all_alike[] = { { "chase", NULL, BY_COUNT } };
	struct bench b;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		set_up(&b, i ? by_count : by_role, THREADS,
		       i ? (struct benchmark){ ROWS(roles, roles) }
			 : (struct benchmark){ ROWS(roles, by_units) });
		b.variant[0].roles = i ? all_alike : roles;
		b.variant[0].n_roles = i ? 1 : 2;
		go(&b);
		for (unsigned w = 0; w < THREADS; w++) {
			assert_int_equal(b.diary.of[w].role, !i && w > 0);
			assert_true(b.diary.of[w].count == (!i && w ? UINT64_MAX : b.series.units));
		}
		end(&b);
	}
}

/* ---- threads that float ---- */

/* The CPUs allowed to each worker while it enters, and while it works. */
static struct {
	int entering, working;
} cpus_of[THREADS];

static int allowed(void)
{
	hwloc_bitmap_t set = cpuset_get();
	const int cpus = hwloc_bitmap_weight(set);

	hwloc_bitmap_free(set);
	return cpus;
}

static void enter_counting(void *state, struct worker *w)
{
	enter(state, w);
	cpus_of[w->index].entering = allowed();
}

static void work_counting(void *state, struct worker *w)
{
	by_count(state, w);
	cpus_of[w->index].working = allowed();
}

/* More threads than CPUs disturb each other, but no sample is noisy. */
static void test_threads_that_float_move_at_work_alone(void **state)
{
	struct bench b;
	int cpu[1024];

	(void)state;
	set_up(&b, work_counting, THREADS, (struct benchmark){ ROWS(roles, by_units) });
	b.benchmark.ops.enter = enter_counting;
	b.planned.trial.floating = true;
	b.planned.cpu = cpu;
	for (; b.planned.cpus < b.machine->cpus && b.planned.cpus < 1024; b.planned.cpus++)
		cpu[b.planned.cpus] = b.machine->cpu[b.planned.cpus].number;
	go(&b);
	for (unsigned i = 0; i < THREADS; i++) {
		assert_int_equal(cpus_of[i].entering, 1);
		assert_int_equal(cpus_of[i].working, b.planned.cpus);
	}
	for (size_t i = 0; i < b.series.samples.n && !b.series.evidence.noise.major_faults; i++)
		assert_false(b.series.samples.noisy[i]);
	end(&b);
}

/* ---- caches that other trials evicted ---- */

enum { UNITS = 10 };
static uint64_t counts[8]; /* of each execution */

static void count_executions(void *state, struct worker *w)
{
	by_count(state, w);
	counts[(((struct diary *)state)->of[0].calls - 1) % 8] = w->count;
}

static int measure_evicted(struct team *team, void *argument)
{
	struct bench *b = argument;

	assert_int_equal(series_open(&b->series, &b->planned, NULL), 0);
	b->series.units = UNITS;
	assert_true(allocation_open(&b->series, team));
	assert_true(batch_take(&b->series, team, 1, true));
	assert_true(batch_take(&b->series, team, 1, false));
	allocation_close(&b->series, team);
	return 0;
}

/*
 * A batch after other trials warms up by a sample, or by more if an allocation needs more; the next
 * batch is warm. Opening the allocation does not warm it up: others are opened after it.
 */
static void test_a_batch_warms_up_as_far_as_its_allocation(void **state)
{
	static const uint64_t table[][4] = { { 3, UNITS, UNITS, UNITS }, { 30, 30, UNITS, UNITS } };
	struct bench b;

	(void)state;
	for (unsigned i = 0; i < sizeof(table) / sizeof(*table); i++) {
		set_up(&b, count_executions, 1, (struct benchmark){ ROWS(roles, by_units) });
		b.planned.needs.warm = table[i][0];
		assert_int_equal(team_open(1, measure_evicted, &b), 0);
		assert_int_equal(b.diary.of[0].calls, 3);
		assert_int_equal(b.series.samples.n, 2);
		for (unsigned j = 0; j < 3; j++)
			assert_int_equal(counts[j], table[i][j + 1]);
		end(&b);
	}
}

/* ---- a worker that can't do its work ---- */

/* The last worker fails from call number `from` on. */
struct failing {
	struct bench bench;
	unsigned from;
	bool calibrated, opened, taken;
};
static unsigned failing_from;

static void fails(void *state, struct worker *w)
{
	by_count(state, w);
	if (w->index + 1 == w->threads &&
	    ((struct diary *)state)->of[w->index].calls >= failing_from)
		w->failed = "it has had enough";
}

static int measure_failing(struct team *team, void *argument)
{
	struct failing *f = argument;
	struct series *s = &f->bench.series;

	assert_int_equal(series_open(s, &f->bench.planned, NULL), 0);
	f->opened = allocation_open(s, team);
	if (s->ready && f->calibrated)
		batch_calibrate(s, team, 0.02, INFINITY);
	if (s->ready)
		f->taken = batch_take(s, team, SAMPLES, false);
	assert_false(s->ready);
	assert_false(allocation_open(s, team));
	return 0;
}

static void run_failing(struct failing *f, unsigned from, uint64_t warm, bool calibrated)
{
	failing_from = from;
	*f = (struct failing){ .calibrated = calibrated };
	set_up(&f->bench, fails, 2, (struct benchmark){ ROWS(roles, by_units) });
	f->bench.planned.needs.units = FIXED;
	f->bench.planned.needs.warm = warm;
	assert_int_equal(team_open(2, measure_failing, f), 0);
	assert_string_equal(f->bench.series.evidence.failure, "it has had enough");
	assert_int_equal(f->bench.diary.of[1].calls, from);
	assert_int_equal(f->bench.diary.released, f->bench.diary.prepared);
	assert_int_equal(f->bench.diary.verified, 0);
	assert_true(series_converged(&f->bench.series));
	end(&f->bench);
}

static void test_a_worker_that_fails_ends_the_trial(void **state)
{
	struct failing f;

	(void)state;
	run_failing(&f, 1, 10, true); /* during warm-up, before calibration */
	assert_true(f.opened);
	assert_false(f.taken);
	run_failing(&f, 1, 0, true); /* during calibration */
	assert_true(f.opened);
	run_failing(&f, 2, 0, false); /* in a batch with one good sample */
	assert_true(f.opened);
	assert_false(f.taken);
	assert_int_equal(f.bench.series.samples.n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_life_of_a_trial),
		cmocka_unit_test(test_a_deadline_ends_the_work),
		cmocka_unit_test(test_work_that_ends_by_itself),
		cmocka_unit_test(test_roles),
		cmocka_unit_test(test_roles_of_a_variant),
		cmocka_unit_test(test_threads_that_float_move_at_work_alone),
		cmocka_unit_test(test_a_batch_warms_up_as_far_as_its_allocation),
		cmocka_unit_test(test_a_worker_that_fails_ends_the_trial),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
