/* SPDX-License-Identifier: Apache-2.0 */
/* How a trial is measured: roles, the three bounds of work, fixed counts, fresh allocations, and what is kept of them. */
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "harness/measure.h"
#include "machine/topology.h"

enum { THREADS = 4 };

/* What the callbacks were called with, in order. */
struct diary {
	unsigned prepared, entered, reset, collected, verified, released;
	struct {
		_Alignas(APART) uint64_t count, calls;
		unsigned role;
	} of[THREADS];
};

static struct diary *the_diary(const struct trial *t)
{
	return (struct diary *)t->variant->layout;
}

static void *prepare(const struct trial *t)
{
	the_diary(t)->prepared++;
	return the_diary(t);
}

static void enter(void *state, struct worker *w)
{
	if (w->index == 0)
		((struct diary *)state)->entered++;
}

static void reset(void *state)
{
	((struct diary *)state)->reset++;
}

static void note(struct diary *d, const struct worker *w)
{
	d->of[w->index].count = w->count;
	d->of[w->index].role = w->role;
	d->of[w->index].calls++;
}

static void turn(struct worker *w)
{
	double end = clock_now() + 1e-6;

	while (clock_now() < end)
		;
	w->done++;
	if (w->done % 100 == 0)
		sched_yield(); /* the tests may have one CPU for all threads */
}

static void by_count(void *state, struct worker *w)
{
	note(state, w);
	while (w->done < w->count)
		turn(w);
}

static void by_flag(void *state, struct worker *w)
{
	note(state, w);
	while (!atomic_load(w->stop))
		turn(w);
}

static void by_role(void *state, struct worker *w)
{
	if (w->role == 0)
		by_count(state, w);
	else
		by_flag(state, w);
}

static void to_the_end(void *state, struct worker *w)
{
	note(state, w);
	for (unsigned i = 0; i < 50; i++)
		turn(w);
}

static void collect(void *state, const struct trial *t, struct result *r)
{
	(void)t;
	report(r, 0, ((struct diary *)state)->collected++);
}

static const char *verify(void *state, const struct trial *t)
{
	(void)t;
	((struct diary *)state)->verified++;
	return NULL;
}

static void release(void *state)
{
	((struct diary *)state)->released++;
}

static uint64_t forty(const struct trial *t, unsigned worker)
{
	(void)t;
	return 40 + worker;
}

static const struct metric metrics[] = { { "ordinal", "1", "number of the sample", NEITHER, NULL }, { 0 } };
static const struct role roles[] = { { "chase", 1, BY_COUNT }, { "background", 0, BY_DEADLINE }, { 0 } };

struct bench {
	struct diary diary;
	struct variant variant[2];
	struct benchmark benchmark;
	struct machine *machine;
	struct place place[THREADS];
	struct planned planned;
	struct series series;
	unsigned batches, samples, allocations;
	double target;
};

static int measure(struct team *team, void *argument)
{
	struct bench *b = argument;

	assert_int_equal(series_open(&b->series, &b->planned), 0);
	for (unsigned a = 0; a < b->allocations; a++) {
		assert_true(series_allocate(&b->series, team));
		if (a == 0)
			series_calibrate(&b->series, team, b->target, 0.02, INFINITY);
		b->diary.collected = 0;
		for (unsigned i = 0; i < b->batches; i++)
			assert_true(series_batch(&b->series, team, b->samples, false));
		series_release(&b->series, team);
	}
	return 0;
}

static void run(struct bench *b, void (*work)(void *, struct worker *), unsigned threads, struct benchmark benchmark)
{
	const char *error;

	memset(b, 0, sizeof(*b));
	b->machine = machine_open(NULL, &error);
	assert_non_null(b->machine);
	for (unsigned i = 0; i < threads; i++)
		b->place[i] = (struct place){ b->machine->cpu[i % b->machine->cpus].number, b->machine->cpu[i % b->machine->cpus].node };
	b->variant[0] = (struct variant){ .name = "only", .layout = &b->diary, .prepare = prepare, .enter = enter, .reset = reset, .work = work,
					  .collect = collect, .verify = verify, .release = release };
	b->benchmark = benchmark;
	b->benchmark.variants = b->variant;
	b->benchmark.metrics = metrics;
	b->benchmark.quantile = 0.5;
	b->benchmark.sample = 1e-3;
	b->planned.trial = (struct trial){ .benchmark = &b->benchmark, .variant = b->variant, .threads = threads, .place = b->place, .machine = b->machine };
	b->batches = 3, b->samples = 4, b->allocations = 2;
	assert_int_equal(team_open(threads, measure, b), 0);
}

static void end(struct bench *b)
{
	series_close(&b->series);
	machine_close(b->machine);
}

static void test_life_of_a_trial(void **state)
{
	struct bench b;

	(void)state;
	run(&b, by_count, 2, (struct benchmark){ .bound = BY_COUNT });
	assert_int_equal(b.diary.prepared, 2);
	assert_int_equal(b.diary.entered, 2);
	assert_int_equal(b.diary.verified, 2);
	assert_int_equal(b.diary.released, 2);
	assert_true(b.diary.reset >= 2 * 3 * 4);
	assert_int_equal(b.series.samples, 2 * 3 * 4);
	assert_int_equal(b.series.batches, 6);
	assert_int_equal(b.series.batch[5].allocation, 1);
	for (size_t i = 0; i < b.series.samples; i++)
		assert_true(b.series.value[0][i] == (double)(i % 12));
	end(&b);
}

static void test_calibration_finds_a_count(void **state)
{
	struct bench b;

	(void)state;
	run(&b, by_count, 1, (struct benchmark){ .bound = BY_COUNT });
	/* A turn is a microsecond and the reading of a clock, a sample a millisecond; noise can only make turns longer, and so counts smaller. */
	assert_in_range(b.series.units, 2, 2000);
	assert_int_equal(b.diary.of[0].count, b.series.units);
	for (size_t i = 0; i < b.series.samples; i++)
		assert_true(b.series.time[i] >= 0.99e-6);
	end(&b);
}

static void test_a_fixed_count_is_kept(void **state)
{
	struct bench b;

	(void)state;
	run(&b, by_count, 3, (struct benchmark){ .bound = BY_COUNT, .count = forty });
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(b.diary.of[i].count, 40 + i);
	end(&b);
}

static void test_a_deadline_ends_the_work(void **state)
{
	struct bench b;

	(void)state;
	run(&b, by_flag, 2, (struct benchmark){ .bound = BY_DEADLINE });
	for (size_t i = 0; i < b.series.samples; i++)
		assert_true(b.series.time[i] > 0);
	assert_true(b.diary.of[0].count == UINT64_MAX);
	end(&b);
}

static void test_work_that_ends_by_itself(void **state)
{
	struct bench b;

	(void)state;
	run(&b, to_the_end, 2, (struct benchmark){ .bound = TO_COMPLETION });
	for (size_t i = 0; i < b.series.samples; i++)
		assert_true(b.series.time[i] >= 0.99e-6);
	end(&b);
}

/* One worker counts; the others go on until it is done, and their units are nobody's time. */
static void test_roles(void **state)
{
	struct bench b;

	(void)state;
	run(&b, by_role, THREADS, (struct benchmark){ .bound = BY_COUNT, .roles = roles });
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(b.diary.of[i].role, i > 0);
	assert_int_equal(b.diary.of[0].count, b.series.units);
	assert_true(b.diary.of[1].count == UINT64_MAX);
	end(&b);
}

static void test_batches_become_lines(void **state)
{
	struct bench b;
	json_t *line;

	(void)state;
	run(&b, by_count, 1, (struct benchmark){ .bound = BY_COUNT });
	line = series_batch_json(&b.series, 1.5);
	assert_int_equal(json_integer_value(json_object_get(line, "batch")), 5);
	assert_int_equal(json_array_size(json_object_get(line, "times")), 4);
	assert_int_equal(json_array_size(json_object_get(json_object_get(line, "values"), "ordinal")), 4);
	json_decref(line);
	end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_life_of_a_trial),	    cmocka_unit_test(test_calibration_finds_a_count), cmocka_unit_test(test_a_fixed_count_is_kept),
		cmocka_unit_test(test_a_deadline_ends_the_work), cmocka_unit_test(test_work_that_ends_by_itself),  cmocka_unit_test(test_roles),
		cmocka_unit_test(test_batches_become_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
