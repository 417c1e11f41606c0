/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a trial is measured: roles, the three bounds of work, fixed counts, fresh allocations, and
 * what is kept of them.
 */
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

#include "harness/sample/series.h"
#include "harness/sample/samples.h"
#include "harness/judge/summary.h"
#include "machine/clock.h"
#include "machine/threads/affinity.h"
#include "machine/topology/topology.h"

enum { THREADS = 5 };
/* In most tests. */
enum { ALLOCATIONS = 2, BATCHES = 2, SAMPLES = 2 };

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
	return (struct diary *)t->variant->data;
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

static const struct metric metrics[] = {
	{ "ordinal", "1", "number of the sample", NEITHER_IS_BETTER, NULL },
	TIME_METRIC("turn"),
};
static const struct role by_units[] = { { "worker", NULL, BY_COUNT } },
			 timed[] = { { "worker", NULL, BY_DEADLINE } },
			 to_completion[] = { { "worker", NULL, TO_COMPLETION } },
			 roles[] = { { "chase", one_worker, BY_COUNT },
				     { "background", NULL, BY_DEADLINE } };
/* Units of all workers: of three, the first two have one more. */
enum { FIXED = 122 };

struct bench {
	struct diary diary;
	struct variant variant[2];
	struct benchmark benchmark;
	struct machine *machine;
	struct place place[THREADS];
	struct planned planned;
	struct series series;
	unsigned batches, samples, allocations; /* samples 0: as many as a batch has */
};

static int measure(struct team *team, void *argument)
{
	struct bench *b = argument;

	assert_int_equal(series_open(&b->series, &b->planned, NULL), 0);
	for (unsigned a = 0; a < b->allocations; a++) {
		assert_true(allocation_open(&b->series, team));
		if (a == 0)
			batch_calibrate(&b->series, team, 0.02, INFINITY);
		b->diary.collected = 0;
		for (unsigned i = 0; i < b->batches; i++)
			assert_true(batch_take(&b->series, team,
					       b->samples ? b->samples : b->series.per_batch,
					       false));
		allocation_close(&b->series, team);
	}
	return 0;
}

static void set_up(struct bench *b, void (*work)(void *, struct worker *), unsigned threads,
		   struct benchmark benchmark)
{
	const char *error;

	memset(b, 0, sizeof(*b));
	b->machine = machine_open(NULL, &error);
	assert_non_null(b->machine);
	for (unsigned i = 0; i < threads; i++)
		b->place[i] = (struct place){ b->machine->cpu[i % b->machine->cpus].number,
					      b->machine->cpu[i % b->machine->cpus].node };
	b->variant[0] = (struct variant){ .name = "only", .data = &b->diary };
	b->benchmark = benchmark;
	b->benchmark.ops = (struct ops){ prepare, enter, reset, work, collect, verify, release };
	b->benchmark.variants = b->variant;
	b->benchmark.n_variants = 1;
	b->benchmark.metrics = metrics;
	b->benchmark.n_metrics = sizeof(metrics) / sizeof(*metrics);
	b->planned.sample = 1e-3;
	b->planned.trial = (struct trial){ .benchmark = &b->benchmark,
					   .variant = b->variant,
					   .threads = threads,
					   .place = b->place,
					   .machine = b->machine };
	b->batches = BATCHES, b->samples = SAMPLES, b->allocations = ALLOCATIONS;
}

static void go(struct bench *b)
{
	assert_int_equal(team_open(b->planned.trial.threads, measure, b), 0);
}

static void run(struct bench *b, void (*work)(void *, struct worker *), unsigned threads,
		struct benchmark benchmark)
{
	set_up(b, work, threads, benchmark);
	go(b);
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

static void test_calibration_finds_a_count(void **state)
{
	struct bench b;

	(void)state;
	run(&b, by_count, 1, (struct benchmark){ ROWS(roles, by_units) });
	/*
	 * A turn is a microsecond and the reading of a clock, a sample a millisecond; noise can
	 * only make turns longer, and so counts smaller.
	 */
	assert_in_range(b.series.units, 1, 2000);
	assert_int_equal(b.diary.of[0].count, b.series.units);
	for (size_t i = 0; i < b.series.samples.n; i++)
		assert_true(b.series.samples.time[i] >= 0.99e-6);
	end(&b);
}

/* A pause in the first sample, as where a host gives the CPU to others. */
static void with_a_pause(void *state, struct worker *w)
{
	const double end = clock_now() + 1e-2;

	note(state, w);
	while (((struct diary *)state)->of[w->index].calls == 1 && clock_now() < end)
		;
	while (w->done < w->count)
		turn(w);
}

/* A first sample that is long by chance is no calibration. */
static void test_a_pause_is_no_unit(void **state)
{
	struct bench b;

	(void)state;
	run(&b, with_a_pause, 1, (struct benchmark){ ROWS(roles, by_units) });
	assert_true(b.diary.of[0].calls >= 2 + b.series.samples.n);
	end(&b);
}

/* A thread that starts late by 5 us half of the time is not that of the one time of 100 ns. */
static void test_the_usual_skew_counts(void **state)
{
	double rare[] = { 5e-6, 1e-7, 5e-6, 6e-6, 5e-6 }, late[] = { 1e-7, 2e-7, 1e-2 };

	(void)state;
	assert_true(batch_usual_skew(rare, 5) == 5e-6);
	assert_true(batch_usual_skew(late, 3) == 2e-7);
	assert_true(isinf(batch_usual_skew(late, 0)));
}

/*
 * The units that calibration finds for 16 threads that do 200 million units a second together, if
 * a thread begins `late` s after the others in samples of at least `from` units.
 */
static double units_found(double late, double from, bool oversubscribed)
{
	struct planned planned = { .sample = 5e-3,
				   .trial = { .threads = 16, .oversubscribed = oversubscribed } };
	struct series s = { .planned = &planned, .units = 1 };
	double skews[64];
	bool long_before = false, found = false;

	for (size_t i = 0; i < 64 && !found; i++) {
		const double skew = (double)s.units >= from ? late : 1e-7;
		struct sample sample = { .wall = (double)s.units / 200e6 + skew, .skew = skew };

		skews[i] = skew;
		s.skew = batch_usual_skew(skews, i + 1);
		found = batch_calibration_ends(&s, &sample, &long_before);
	}
	assert_true(found);
	return (double)s.units;
}

/* A sample that is long only because a thread began late has too little work. */
static void test_a_late_start_is_no_work(void **state)
{
	const double enough = 0.7 * 5e-3 * 200e6; /* 70 % of the planned length */

	(void)state;
	assert_true(units_found(0, 0, false) >= enough);
	/* with its skew a sample is long enough once, too long twice, too long from the first on */
	assert_true(units_found(4e-3, 4000, false) >= enough);
	assert_true(units_found(13e-3, 4000, false) >= enough);
	assert_true(units_found(0.2, 0, false) >= enough);
	/* more threads than CPUs run one after the other: their skew is work of others */
	assert_true(units_found(13e-3, 4000, true) < enough);
}

static void test_a_fixed_count_is_kept(void **state)
{
	struct bench b;

	(void)state;
	set_up(&b, by_count, 3, (struct benchmark){ ROWS(roles, by_units) });
	b.planned.needs.units = FIXED;
	go(&b);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(b.diary.of[i].count, i < 2 ? 41 : 40);
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

/* One worker has a count; the others go on until it is done, and their units do not count. */
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

/* A variant's roles are in the place of its benchmark's. */
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

/* CPUs that each worker may use while it enters, and while it works. */
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
 * A batch after other trials warms up by a sample, or by more where an allocation takes more; the
 * batch after it is warm. Opening the allocation does not warm it up: others are opened after it.
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
	run_failing(&f, 1, 10, true); /* while it is warmed up, before calibration */
	assert_true(f.opened);
	assert_false(f.taken);
	run_failing(&f, 1, 0, true); /* while it is calibrated */
	assert_true(f.opened);
	run_failing(&f, 2, 0, false); /* in a batch, of which one sample was good */
	assert_true(f.opened);
	assert_false(f.taken);
	assert_int_equal(f.bench.series.samples.n, 1);
}

static void test_batches_become_lines(void **state)
{
	struct bench b;
	json_t *line;

	(void)state;
	run(&b, by_count, 1, (struct benchmark){ ROWS(roles, by_units) });
	line = samples_line(&b.series, b.series.samples.batches - 1, 1);
	assert_int_equal(json_integer_value(json_object_get(line, "batch")),
			 ALLOCATIONS * BATCHES - 1);
	assert_int_equal(json_array_size(json_object_get(line, "times")), SAMPLES);
	assert_null(json_object_get(line, "values")); /* they are in the trial's line, by batch */
	json_decref(line);
	end(&b);
}

static void test_workers_that_never_met_make_a_line_without_quantiles(void **state)
{
	struct bench b;
	struct series met;
	json_t *line, *sketch;

	(void)state;
	run(&b, by_count, 1, (struct benchmark){ ROWS(roles, by_units) });
	met = b.series;
	met.pairs = (struct pairs *)&met; /* its samples are not raw */
	for (unsigned i = 0; i < SAMPLES; i++)
		met.samples.time[i] = NAN;
	line = samples_line(&met, 0, 1);
	sketch = json_object_get(line, "sketch");
	assert_int_equal(json_integer_value(json_object_get(sketch, "n")), 0);
	assert_null(json_object_get(sketch, "quantiles"));
	json_decref(line);
	end(&b);
}

/* ---- what the plan says of a trial ---- */

static void test_a_sample_is_as_long_as_planned(void **state)
{
	struct bench b;

	(void)state;
	set_up(&b, by_flag, 1, (struct benchmark){ ROWS(roles, timed) });
	b.planned.sample = 2.5e-3;
	go(&b);
	assert_true(b.diary.of[0].count == UINT64_MAX);
	/* longer if workers end late */
	assert_true(b.series.duration >= 2.5e-3 && b.series.duration <= 0.05);
	end(&b);
}

static void test_a_fixed_count_is_no_deadline(void **state)
{
	struct bench b;

	(void)state;
	set_up(&b, by_count, 3, (struct benchmark){ ROWS(roles, timed) });
	b.planned.needs.units = FIXED;
	go(&b);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(b.diary.of[i].count, i < 2 ? 41 : 40);
	end(&b);
}

/* Less work than workers: who has none does none. */
static void test_a_fixed_count_may_be_none(void **state)
{
	struct bench b;

	(void)state;
	set_up(&b, by_count, 3, (struct benchmark){ ROWS(roles, by_units) });
	b.planned.needs.units = 2;
	go(&b);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(b.diary.of[i].count, i < 2);
	end(&b);
}

/* ---- scored over the time in which all are at work ---- */

/* Units that each other worker has done when the first one is done. */
enum { BEFORE_THE_END = 10 };
static _Atomic unsigned waited_for;
static double expected[64];
static unsigned expectations;

/*
 * Worker 0 does its count, or 100 units, when the others have done ten each. These wait for the
 * flag, and do the rest. So the workers' speeds are as different as can be, and all counts are
 * known.
 */
static void at_unequal_speeds(void *state, struct worker *w)
{
	const uint64_t all = w->count == UINT64_MAX ? 100 : w->count;

	note(state, w);
	if (w->index == 0) {
		while (atomic_load(&waited_for) < w->threads - 1)
			sched_yield();
		while (w->done < all)
			turn(w);
		while (w->count == UINT64_MAX && !atomic_load(w->stop))
			sched_yield();
		w->together = w->done;
		return;
	}
	while (w->done < BEFORE_THE_END)
		turn(w);
	w->together = w->done;
	atomic_fetch_add(&waited_for, 1);
	while (!atomic_load(w->stop))
		sched_yield();
	while (w->done < all)
		turn(w);
}

static void expect_nobody(void *state)
{
	reset(state);
	waited_for = 0;
}

/*
 * Expects the time from the begin of the last worker to the end of the first one, over the units
 * that each had done until then on average.
 */
static void expect_together(void *state, const struct trial *t, struct result *r)
{
	double late = 0, soon = INFINITY, units = 0;

	collect(state, t, r);
	for (unsigned i = 0; i < t->threads; i++) {
		const struct attendance *a = team_attendance(t->team, i);

		late = fmax(late, a->begin);
		soon = fmin(soon, a->end);
		units += (double)(i ? BEFORE_THE_END : team_worker(t->team, 0)->done) / t->threads;
	}
	expected[expectations++] = (soon - late) / units;
}

static void score_together(uint64_t units, uint64_t done)
{
	struct bench b;

	set_up(&b, at_unequal_speeds, 3,
	       (struct benchmark){ ROWS(roles, timed), .protocol.scored = TOGETHER });
	b.planned.needs.units = units;
	b.benchmark.ops.reset = expect_nobody;
	b.benchmark.ops.collect = expect_together;
	expectations = 0;
	go(&b);
	assert_int_equal(expectations, b.series.samples.n);
	for (size_t i = 0; i < b.series.samples.n; i++) {
		if (expected[i] > 0)
			assert_true(fabs(b.series.samples.time[i] / expected[i] - 1) < 1e-12);
		else /* on a starved machine one is done before another one has come */
			assert_true(isnan(b.series.samples.time[i]));
	}
	assert_int_equal(b.series.did, done);
	end(&b);
}

static void test_fixed_work_is_scored_until_the_first_is_done(void **state)
{
	(void)state;
	score_together(FIXED, 41);
}

static void test_a_deadline_is_scored_while_all_are_at_work(void **state)
{
	(void)state;
	score_together(0, 100);
}

/* On a busy machine the first may be done before the last one comes; such a sample has no time. */
static void at_work_together_or_not(void *state, struct worker *w)
{
	note(state, w);
	while (w->done < 10)
		turn(w);
	w->together = ((struct diary *)state)->reset % 2 ? w->done : 0;
}

static void test_samples_without_a_time_spoil_no_batch(void **state)
{
	struct bench b;
	unsigned none = 0;

	(void)state;
	set_up(&b, at_work_together_or_not, 1,
	       (struct benchmark){ ROWS(roles, to_completion), .protocol.scored = TOGETHER });
	go(&b);
	for (size_t i = 0; i < b.series.samples.n; i++)
		none += isnan(b.series.samples.time[i]);
	assert_int_equal(none, b.series.samples.n / 2);
	for (unsigned i = 0; i < b.series.samples.batches; i++)
		assert_true(b.series.samples.batch[i].estimate > 0);
	end(&b);
}

/* ---- pairs ---- */

enum { MEETINGS = 4 };

/*
 * Who sits where in an execution. Over all samples: how often two workers met, how often each of
 * them began, and which numbers their meetings had.
 */
static struct seats {
	_Atomic int of[THREADS][2];	  /* by group and role: the worker, plus one */
	_Atomic unsigned number[THREADS]; /* of the meeting, by group */
	_Atomic unsigned calls;
	unsigned met[THREADS][THREADS], began[THREADS][THREADS], numbers[THREADS][THREADS];
	unsigned executions, single;
	struct team *team;	    /* NULL: not known yet */
	unsigned said[THREADS][2];  /* at reset(), by worker: its group and role */
	_Atomic unsigned elsewhere; /* workers that then worked at another seat */
} seats;

static void sit_down(void *state, struct worker *w)
{
	(void)state;
	atomic_fetch_add(&seats.calls, 1);
	seats.elsewhere += seats.team && (seats.said[w->index][0] != w->group ||
					  seats.said[w->index][1] != w->role);
	if (w->group >= w->threads / 2 || w->role > 1)
		return; /* its empty place shows it */
	seats.of[w->group][w->role] = (int)w->index + 1;
	seats.number[w->group] = w->meeting;
	while (w->done < w->count)
		turn(w);
}

/* After each execution, samples or not, all who worked must have been pairs. */
static void stand_up(void *state)
{
	unsigned seated = 0;

	(void)state;
	for (unsigned i = 0; i < THREADS; i++) {
		assert_int_equal(seats.of[i][0] != 0, seats.of[i][1] != 0);
		seated += seats.of[i][0] ? 2 : 0;
		seats.of[i][0] = seats.of[i][1] = 0;
	}
	assert_int_equal(seated, seats.calls);
	for (unsigned i = 0; seats.team && i < team_threads(seats.team); i++) {
		seats.said[i][0] = team_worker(seats.team, i)->group;
		seats.said[i][1] = team_worker(seats.team, i)->role;
	}
	seats.executions += seated > 0;
	seats.single += seated == 2;
	seats.calls = 0;
}

static void note_pairs(void *state, const struct trial *t, struct result *r)
{
	(void)state;
	(void)r;
	seats.team = t->team;
	for (unsigned i = 0; i < THREADS; i++) {
		const int one = seats.of[i][0] - 1, other = seats.of[i][1] - 1;

		if (one < 0)
			continue;
		seats.met[one < other ? one : other][one < other ? other : one]++;
		seats.began[one][other]++;
		seats.numbers[one < other ? one : other][one < other ? other : one] |=
			1u << seats.number[i];
	}
}

static void meet(unsigned threads)
{
	const unsigned batches = 2, allocations = 2, rounds = threads % 2 ? threads : threads - 1;
	struct bench b;

	memset(&seats, 0, sizeof(seats));
	set_up(&b, sit_down, threads,
	       (struct benchmark){ ROWS(roles, by_units), .protocol.scored = IN_PAIRS });
	b.benchmark.ops.reset = stand_up;
	b.benchmark.ops.collect = note_pairs;
	b.planned.needs.meetings = MEETINGS;
	b.planned.sample = 1e-5;
	b.batches = batches, b.allocations = allocations, b.samples = 0;
	go(&b);
	seats.team = NULL; /* it is gone */
	stand_up(NULL);
	assert_int_equal(seats.elsewhere, 0); /* reset() knows who will meet whom */
	assert_int_equal(b.series.per_batch, rounds * MEETINGS);
	assert_int_equal(b.series.samples.n, batches * allocations * rounds * MEETINGS);
	for (unsigned i = 0; i < threads; i++)
		for (unsigned j = i + 1; j < threads; j++) {
			assert_int_equal(seats.met[i][j], batches * allocations * MEETINGS);
			assert_int_equal(seats.began[i][j], seats.met[i][j] / 2);
			assert_int_equal(seats.began[j][i], seats.met[i][j] / 2);
			assert_int_equal(seats.numbers[i][j], (1u << MEETINGS) - 1);
		}
	if (threads > 3) /* beside others: some pairs are measured alone as well, as often */
		assert_int_equal(seats.single,
				 batches * allocations * b.series.pairs->alone * MEETINGS);
	end(&b);
}

static void test_every_pair_meets(void **state)
{
	(void)state;
	for (unsigned threads = 2; threads <= THREADS; threads++)
		meet(threads);
}

static void test_one_worker_is_no_pair(void **state)
{
	struct bench b;

	(void)state;
	set_up(&b, by_count, 1,
	       (struct benchmark){ ROWS(roles, by_units), .protocol.scored = IN_PAIRS });
	b.planned.needs.meetings = MEETINGS;
	go(&b);
	assert_null(b.series.pairs);
	end(&b);
}

/*
 * Two allocations of three samples each: noisy samples do not count, unless one of the two has no
 * others.
 */
static void test_noisy_samples_are_set_aside(void **state)
{
	double time[] = { 1, 2, 90, 11, 12, 80 };
	unsigned char noisy[] = { 0, 0, 1, 0, 0, 1 };
	struct batch batch[] = {
		{ .samples = 3, .estimate = 2, .clean = 1.5 },
		{ .first = 3, .samples = 3, .allocation = 1, .estimate = 12, .clean = 11.5 },
	};
	struct samples s = {
		.time = time, .noisy = noisy, .batch = batch, .batches = 2, .allocations = 2
	};
	struct estimate e;

	(void)state;
	assert_true(samples_sets_noise_aside(&s));
	e = estimates_time(&s).kept;
	assert_true(e.value == 6.5 && isnan(e.low) && e.least == 1.5 && e.most == 11.5);
	assert_int_equal(e.groups, 2);
	noisy[3] = noisy[4] = 1;
	assert_true(samples_has_clean(&s, 0) && !samples_has_clean(&s, 1));
	assert_true(estimates_time(&s).kept.value == 7);
	assert_true(samples_estimate(&s, (double[]){ 1, 3 }).value == 2);
}

/* An allocation speaks for itself by a quarter of its samples at least. */
static void test_a_quarter_of_an_allocation_has_to_be_clean(void **state)
{
	enum { SAMPLES_HERE = 9 };
	double time[SAMPLES_HERE] = { 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	unsigned char noisy[SAMPLES_HERE] = { 0, 0, 1, 1, 1, 1, 1, 1, 1 };
	struct batch batch[] = { { .samples = 4 }, { .first = 4, .samples = 4 } };
	struct samples s = {
		.time = time, .noisy = noisy, .batch = batch, .batches = 2, .allocations = 1
	};

	(void)state;
	assert_true(samples_has_clean(&s, 0)); /* 2 of 8 */
	batch[1].samples = 5;
	assert_false(samples_has_clean(&s, 0)); /* 2 of 9 */
	time[8] = NAN;				/* a sample without a time is none */
	assert_true(samples_has_clean(&s, 0));
}

/* The CPU of worker 0 in a trial, which the second sample of each batch is said to have lost. */
static struct marked {
	struct bench bench;
	int cpu;
	_Atomic bool now;
} marked;

static void mark_the_second(void *state)
{
	const struct diary *d = state;

	marked.now = d->collected % 3 == 1;
	marked.bench.place[0].cpu = marked.now ? marked.cpu + 1000 : marked.cpu;
}

/* Twice as slow in a sample that is marked. */
static void slow_if_marked(void *state, struct worker *w)
{
	note(state, w);
	for (uint64_t done = w->done; done < w->count; w->done = ++done) {
		turn(w);
		if (marked.now)
			turn(w);
	}
}

/* A batch's clean time is the median of the samples that are not noisy; its estimate, of all. */
static void test_the_clean_time_leaves_noisy_samples_out(void **state)
{
	const struct series *s = &marked.bench.series;

	(void)state;
	set_up(&marked.bench, slow_if_marked, 1, (struct benchmark){ .roles = by_units });
	marked.bench.benchmark.ops.reset = mark_the_second;
	marked.bench.samples = 3;
	marked.cpu = marked.bench.place[0].cpu;
	go(&marked.bench);
	assert_int_equal(s->samples.batches, ALLOCATIONS * BATCHES);
	for (unsigned i = 0; i < s->samples.batches; i++) {
		const struct batch *b = &s->samples.batch[i];
		const double *x = s->samples.time + b->first;
		const unsigned char *noisy = s->samples.noisy + b->first;

		assert_true(noisy[1]);
		/* the machine may disturb the other two, as well */
		if (!noisy[0] && !noisy[2])
			assert_true(fabs(b->clean / ((x[0] + x[2]) / 2) - 1) < 1e-12);
		else if (noisy[0] && noisy[2])
			assert_true(isnan(b->clean));
		else
			assert_true(b->clean == x[noisy[0] ? 2 : 0]);
		assert_true(b->estimate == fmax(fmin(x[0], x[1]), fmin(fmax(x[0], x[1]), x[2])));
	}
	end(&marked.bench);
}

/*
 * Each batch in cycles of its own: 10, 10 and 40 have the median 10, though the medians of the
 * times (30) and of the cycles (2) make 15.
 */
static void test_cycles_are_those_of_each_batch(void **state)
{
	struct batch batch[] = { { .clean = 30, .cycle = 3 },
				 { .clean = 10, .cycle = 1 },
				 { .clean = 80, .cycle = 2 } };
	struct planned planned = { .id = "" };
	struct series s = { .planned = &planned, .samples = { .batch = batch, .batches = 3 } };

	(void)state;
	assert_true(fabs(30 / samples_cycle(&s, 30) - 10) < 1e-12);
	batch[0].cycle = 0; /* the median of 10 and 40 */
	assert_true(fabs(30 / samples_cycle(&s, 30) - 25) < 1e-12);
	batch[1].clean = NAN; /* half of those that have a time are enough */
	assert_true(fabs(30 / samples_cycle(&s, 30) - 40) < 1e-12);
	batch[2].cycle = 0;
	assert_true(isnan(samples_cycle(&s, 30)));
	batch[0].cycle = batch[2].cycle = 3;
	planned.trial.oversubscribed = true;
	assert_true(isnan(samples_cycle(&s, 30)));
}

static void test_a_batch_has_a_cycle_at_one_frequency_alone(void **state)
{
	const struct batch_cores slow = { 1, 1.01, 1.02 }, fast = { 0.5, 0.51, 0.52 },
				 mixed = { 0.5, 1, 1 }, unknown = { 0, 0, 0 };

	(void)state;
	assert_true(batch_cycle(slow, slow) == 1.01);
	assert_true(fabs(batch_cycle(fast, (struct batch_cores){ 0.5, 0.505, 0.51 }) - 0.5075) <
		    1e-12);
	assert_true(batch_cycle(slow, fast) == 0 && batch_cycle(fast, slow) == 0);
	assert_true(batch_cycle(mixed, mixed) == 0);
	assert_true(batch_cycle(unknown, unknown) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_life_of_a_trial),
		cmocka_unit_test(test_calibration_finds_a_count),
		cmocka_unit_test(test_a_pause_is_no_unit),
		cmocka_unit_test(test_the_usual_skew_counts),
		cmocka_unit_test(test_a_late_start_is_no_work),
		cmocka_unit_test(test_a_fixed_count_is_kept),
		cmocka_unit_test(test_a_deadline_ends_the_work),
		cmocka_unit_test(test_work_that_ends_by_itself),
		cmocka_unit_test(test_roles),
		cmocka_unit_test(test_roles_of_a_variant),
		cmocka_unit_test(test_threads_that_float_move_at_work_alone),
		cmocka_unit_test(test_a_batch_warms_up_as_far_as_its_allocation),
		cmocka_unit_test(test_a_worker_that_fails_ends_the_trial),
		cmocka_unit_test(test_batches_become_lines),
		cmocka_unit_test(test_workers_that_never_met_make_a_line_without_quantiles),
		cmocka_unit_test(test_a_sample_is_as_long_as_planned),
		cmocka_unit_test(test_a_fixed_count_is_no_deadline),
		cmocka_unit_test(test_a_fixed_count_may_be_none),
		cmocka_unit_test(test_fixed_work_is_scored_until_the_first_is_done),
		cmocka_unit_test(test_a_deadline_is_scored_while_all_are_at_work),
		cmocka_unit_test(test_samples_without_a_time_spoil_no_batch),
		cmocka_unit_test(test_cycles_are_those_of_each_batch),
		cmocka_unit_test(test_a_batch_has_a_cycle_at_one_frequency_alone),
		cmocka_unit_test(test_noisy_samples_are_set_aside),
		cmocka_unit_test(test_a_quarter_of_an_allocation_has_to_be_clean),
		cmocka_unit_test(test_the_clean_time_leaves_noisy_samples_out),
		cmocka_unit_test(test_every_pair_meets),
		cmocka_unit_test(test_one_worker_is_no_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
