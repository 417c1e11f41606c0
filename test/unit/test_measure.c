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

#include "harness/allocation.h"
#include "harness/batch.h"
#include "harness/calibrate.h"
#include "harness/samples_line.h"
#include "harness/summary.h"
#include "machine/clock.h"
#include "machine/topology.h"

enum { THREADS = 5 };
/* Of most tests. */
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

static const struct metric metrics[] = { { "ordinal", "1", "number of the sample", NEITHER, NULL },
					 TIME_METRIC("turn"),
					 { 0 } };
static const struct role by_units[] = { { "worker", 0, BY_COUNT }, { 0 } },
			 timed[] = { { "worker", 0, BY_DEADLINE }, { 0 } },
			 to_completion[] = { { "worker", 0, TO_COMPLETION }, { 0 } },
			 roles[] = { { "chase", 1, BY_COUNT },
				     { "background", 0, BY_DEADLINE },
				     { 0 } };
/* In all; of three workers the first two have one more. */
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
			calibrate(&b->series, team, 0.02, INFINITY);
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
	b->benchmark.metrics = metrics;
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
	run(&b, by_count, 2, (struct benchmark){ .roles = by_units });
	assert_int_equal(b.diary.prepared, 2);
	assert_int_equal(b.diary.entered, 2);
	assert_int_equal(b.diary.verified, 2);
	assert_int_equal(b.diary.released, 2);
	assert_true(b.diary.reset >= ALLOCATIONS * BATCHES * SAMPLES);
	assert_int_equal(b.series.samples, ALLOCATIONS * BATCHES * SAMPLES);
	assert_int_equal(b.series.batches, ALLOCATIONS * BATCHES);
	assert_int_equal(b.series.batch[BATCHES].allocation, 1);
	for (size_t i = 0; i < b.series.samples; i++)
		assert_true(b.series.value[0][i] == (double)(i % (BATCHES * SAMPLES)));
	end(&b);
}

static void test_calibration_finds_a_count(void **state)
{
	struct bench b;

	(void)state;
	run(&b, by_count, 1, (struct benchmark){ .roles = by_units });
	/*
	 * A turn is a microsecond and the reading of a clock, a sample a millisecond; noise can
	 * only make turns longer, and so counts smaller.
	 */
	assert_in_range(b.series.units, 1, 2000);
	assert_int_equal(b.diary.of[0].count, b.series.units);
	for (size_t i = 0; i < b.series.samples; i++)
		assert_true(b.series.time[i] >= 0.99e-6);
	end(&b);
}

/* As where a host gives the CPU to others. */
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
	run(&b, with_a_pause, 1, (struct benchmark){ .roles = by_units });
	assert_true(b.diary.of[0].calls >= 2 + b.series.samples);
	end(&b);
}

static void test_a_fixed_count_is_kept(void **state)
{
	struct bench b;

	(void)state;
	set_up(&b, by_count, 3, (struct benchmark){ .roles = by_units });
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
	run(&b, by_flag, 2, (struct benchmark){ .roles = timed });
	/* none, where time was up before anybody had begun: a slow machine's */
	for (size_t i = 0; i < b.series.samples; i++)
		assert_true(isnan(b.series.time[i]) || b.series.time[i] > 0);
	assert_true(b.diary.of[0].count == UINT64_MAX);
	end(&b);
}

static void test_work_that_ends_by_itself(void **state)
{
	struct bench b;

	(void)state;
	run(&b, to_the_end, 2, (struct benchmark){ .roles = to_completion });
	for (size_t i = 0; i < b.series.samples; i++)
		assert_true(b.series.time[i] >= 0.99e-6);
	end(&b);
}

/* One worker counts; the others go on until it is done, and their units are nobody's time. */
static void test_roles(void **state)
{
	struct bench b;

	(void)state;
	run(&b, by_role, THREADS, (struct benchmark){ .roles = roles });
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(b.diary.of[i].role, i > 0);
	assert_int_equal(b.diary.of[0].count, b.series.units);
	assert_true(b.diary.of[1].count == UINT64_MAX);
	end(&b);
}

/* A variant's roles are in the place of its benchmark's. */
static void test_roles_of_a_variant(void **state)
{
	static const struct role all_alike[] = { { "chase", 0, BY_COUNT }, { 0 } };
	struct bench b;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		set_up(&b, i ? by_count : by_role, THREADS,
		       (struct benchmark){ .roles = i ? roles : by_units });
		b.variant[0].roles = i ? all_alike : roles;
		go(&b);
		for (unsigned w = 0; w < THREADS; w++) {
			assert_int_equal(b.diary.of[w].role, !i && w > 0);
			assert_true(b.diary.of[w].count == (!i && w ? UINT64_MAX : b.series.units));
		}
		end(&b);
	}
}

/* ---- a worker that can't do its work ---- */

/* The last worker can't from its n-th call on. */
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
		calibrate(s, team, 0.02, INFINITY);
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
	set_up(&f->bench, fails, 2, (struct benchmark){ .roles = by_units });
	f->bench.planned.needs.units = FIXED;
	f->bench.planned.needs.warm = warm;
	assert_int_equal(team_open(2, measure_failing, f), 0);
	assert_string_equal(f->bench.series.failure, "it has had enough");
	assert_int_equal(f->bench.diary.of[1].calls, from);
	assert_int_equal(f->bench.diary.released, f->bench.diary.prepared);
	assert_int_equal(f->bench.diary.verified, 0);
	assert_true(series_converged(&f->bench.series, -1));
	end(&f->bench);
}

static void test_a_worker_that_fails_ends_the_trial(void **state)
{
	struct failing f;

	(void)state;
	run_failing(&f, 1, 10, true); /* while it is warmed up */
	assert_false(f.opened);
	run_failing(&f, 1, 0, true); /* while it is calibrated */
	assert_true(f.opened);
	run_failing(&f, 2, 0, false); /* in a batch, of which one sample was good */
	assert_true(f.opened);
	assert_false(f.taken);
	assert_int_equal(f.bench.series.samples, 1);
}

static void test_batches_become_lines(void **state)
{
	struct bench b;
	json_t *line;

	(void)state;
	run(&b, by_count, 1, (struct benchmark){ .roles = by_units });
	line = samples_line(&b.series, 1.5);
	assert_int_equal(json_integer_value(json_object_get(line, "batch")),
			 ALLOCATIONS * BATCHES - 1);
	assert_int_equal(json_array_size(json_object_get(line, "times")), SAMPLES);
	assert_int_equal(
		json_array_size(json_object_get(json_object_get(line, "values"), "ordinal")),
		SAMPLES);
	json_decref(line);
	end(&b);
}

/* ---- what the plan says of a trial ---- */

static void test_a_sample_is_as_long_as_planned(void **state)
{
	struct bench b;

	(void)state;
	set_up(&b, by_flag, 1, (struct benchmark){ .roles = timed });
	b.planned.sample = 2.5e-3;
	go(&b);
	assert_true(b.diary.of[0].count == UINT64_MAX);
	/* longer, where ends come late */
	assert_true(b.series.duration >= 2.5e-3 && b.series.duration <= 0.05);
	end(&b);
}

static void test_a_fixed_count_is_no_deadline(void **state)
{
	struct bench b;

	(void)state;
	set_up(&b, by_count, 3, (struct benchmark){ .roles = timed });
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
	set_up(&b, by_count, 3, (struct benchmark){ .roles = by_units });
	b.planned.needs.units = 2;
	go(&b);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(b.diary.of[i].count, i < 2);
	end(&b);
}

/* ---- scored over the time in which all are at work ---- */

/* What the others did when the first was done. */
enum { BEFORE_THE_END = 10 };
static _Atomic unsigned waited_for;
static double expected[64];
static unsigned expectations;

/*
 * Worker 0 does what it is told, or a hundred, when the others have done ten; they wait for the
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
 * From when the last one came to when the first one was done, by what each did on the average until
 * then.
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

	set_up(&b, at_unequal_speeds, 3, (struct benchmark){ .roles = timed, .scored = TOGETHER });
	b.planned.needs.units = units;
	b.benchmark.ops.reset = expect_nobody;
	b.benchmark.ops.collect = expect_together;
	expectations = 0;
	go(&b);
	assert_int_equal(expectations, b.series.samples);
	for (size_t i = 0; i < b.series.samples; i++) {
		if (expected[i] > 0)
			assert_true(fabs(b.series.time[i] / expected[i] - 1) < 1e-12);
		else /* on a starved machine one is done before another one has come */
			assert_true(isnan(b.series.time[i]));
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
	       (struct benchmark){ .roles = to_completion, .scored = TOGETHER });
	go(&b);
	for (size_t i = 0; i < b.series.samples; i++)
		none += isnan(b.series.time[i]);
	assert_int_equal(none, b.series.samples / 2);
	for (unsigned i = 0; i < b.series.batches; i++)
		assert_true(b.series.batch[i].estimate > 0);
	end(&b);
}

/* ---- pairs ---- */

enum { MEETINGS = 4 };

/*
 * Who sits where in an execution, and over all that are samples: how often two met, how often each
 * began, with which number.
 */
static struct seats {
	_Atomic int of[THREADS][2];	  /* by group and role: the worker, plus one */
	_Atomic unsigned number[THREADS]; /* of the meeting, by group */
	_Atomic unsigned calls;
	unsigned met[THREADS][THREADS], began[THREADS][THREADS], numbers[THREADS][THREADS];
	unsigned executions, single;
} seats;

static void sit_down(void *state, struct worker *w)
{
	(void)state;
	atomic_fetch_add(&seats.calls, 1);
	if (w->group >= w->threads / 2 || w->role > 1)
		return; /* seen by its place being empty */
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
	seats.executions += seated > 0;
	seats.single += seated == 2;
	seats.calls = 0;
}

static void note_pairs(void *state, const struct trial *t, struct result *r)
{
	(void)state;
	(void)t;
	(void)r;
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
	set_up(&b, sit_down, threads, (struct benchmark){ .roles = by_units, .scored = IN_PAIRS });
	b.benchmark.ops.reset = stand_up;
	b.benchmark.ops.collect = note_pairs;
	b.planned.needs.meetings = MEETINGS;
	b.planned.sample = 1e-5;
	b.batches = batches, b.allocations = allocations, b.samples = 0;
	go(&b);
	stand_up(NULL);
	assert_int_equal(b.series.per_batch, rounds * MEETINGS);
	assert_int_equal(b.series.samples, batches * allocations * rounds * MEETINGS);
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
	set_up(&b, by_count, 1, (struct benchmark){ .roles = by_units, .scored = IN_PAIRS });
	b.planned.needs.meetings = MEETINGS;
	go(&b);
	assert_null(b.series.pairs);
	end(&b);
}

/* ---- ratios ---- */

enum { WORDS, SIZE_OF };
static const struct parameter ratio_parameters[] = {
	[WORDS] = { "words", NULL, "where", P_CHOICE, .choices = "shared,dense,padded",
		    .value = { "shared" } },
	[SIZE_OF] = { "size", "B", "bytes", P_SIZE, .value = { "1" } },
	{ 0 }
};
static const struct ratio ratio_rows[] = {
	{ "slowdown", "of a layout", WORDS, "dense", "padded", NULL },
	{ "slowdown", "of a variant", P_VARIANT, "racy", "atomic", NULL },
	{ 0 }
};
static const struct metric just_time[] = { TIME_METRIC("turn"), { 0 } };
static const struct variant ratio_variants[] = { { .name = "racy" }, { .name = "atomic" }, { 0 } };
static const struct benchmark ratio_benchmark = { .name = "sample",
						  .protocol = "none",
						  .unit = "turn",
						  .parameters = ratio_parameters,
						  .metrics = just_time,
						  .roles = by_units,
						  .ratios = ratio_rows,
						  .variants = ratio_variants };

/* A series of ten samples, each a batch: from 0.95 to 1.05 times a time. */
struct invention {
	union value value[2];
	struct planned planned;
};

static void invent(struct series *s, struct invention *i, const char *id, unsigned variant,
		   unsigned words, uint64_t size, unsigned threads, double time)
{
	enum { SAMPLES = 10 };

	i->value[WORDS].choice = words;
	i->value[SIZE_OF].count = size;
	i->planned = (struct planned){ .identity = (char *)"", .bind = "close" };
	i->planned.trial = (struct trial){ .benchmark = &ratio_benchmark,
					   .variant = &ratio_variants[variant],
					   .value = i->value,
					   .threads = threads };
	strcpy(i->planned.id, id);
	assert_int_equal(series_open(s, &i->planned, NULL), 0);
	s->time = calloc(SAMPLES, sizeof(*s->time));
	s->skews = calloc(SAMPLES, sizeof(*s->skews));
	s->noisy = calloc(SAMPLES, sizeof(*s->noisy));
	s->batch = calloc(SAMPLES, sizeof(*s->batch));
	s->samples = s->batches = SAMPLES;
	s->allocations = 1;
	s->duration = 1;
	s->noise.wall = SAMPLES;
	for (unsigned b = 0; b < SAMPLES; b++) {
		s->time[b] = time * (0.955 + 0.01 * (b * 7 % SAMPLES));
		s->batch[b] = (struct batch){
			.first = b, .samples = 1, .estimate = s->time[b], .clean = s->time[b]
		};
	}
}

/*
 * Threads that begin apart are part of the time, unless that is scored from when all are there:
 * worth a word beyond a hundredth of a sample.
 */
static void test_a_skew_that_tells_is_noted(void **state)
{
	static const struct {
		double skew;
		unsigned threads;
		bool together, noted;
	} table[] = { { 0.02, 2, false, true },
		      { 0.005, 2, false, false },
		      { 0.02, 1, false, false },
		      { 0.02, 2, true, false } };

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct invention invention;
		struct benchmark benchmark = ratio_benchmark;
		const json_t *doubt;
		enum status status;
		struct series s;
		bool noted = false;
		json_t *line;
		size_t j;

		invent(&s, &invention, "skewed", 0, 0, 1, table[i].threads, 1);
		benchmark.scored = table[i].together ? TOGETHER : SPAN;
		invention.planned.trial.benchmark = &benchmark;
		for (size_t k = 0; k < s.samples; k++)
			s.skews[k] = table[i].skew;
		line = summary(&s, &s, 1, "now", &status);
		json_array_foreach(json_object_get(line, "notes"), j, doubt) noted |=
			strstr(json_string_value(doubt), "begin 0.02 s apart, 2 % of a sample") !=
			NULL;
		assert_int_equal(noted, table[i].noted);
		json_decref(line);
		series_close(&s);
	}
}

static json_t *ratios_of(const struct series *s, const struct series *group, unsigned n)
{
	enum status status;
	json_t *line = summary(s, group, n, "now", &status),
	       *list = json_incref(json_object_get(line, "ratios"));

	json_decref(line);
	return list;
}

static void expect_ratio(const json_t *ratio, const char *to, const char *trial, double value)
{
	const json_t *ci = json_object_get(ratio, "ci");
	const double low = json_number_value(json_array_get(ci, 0)),
		     high = json_number_value(json_array_get(ci, 1));

	assert_string_equal(json_string_value(json_object_get(ratio, "name")), "slowdown");
	assert_string_equal(json_string_value(json_object_get(ratio, "to")), to);
	assert_string_equal(json_string_value(json_object_get(ratio, "trial")), trial);
	assert_true(fabs(json_number_value(json_object_get(ratio, "value")) / value - 1) < 1e-9);
	/*
	 * of ten values the interval of the median is from the second to the ninth: 0.965 to 1.035
	 */
	assert_true(fabs(low / (value * 0.965 / 1.035) - 1) < 1e-9);
	assert_true(fabs(high / (value * 1.035 / 0.965) - 1) < 1e-9);
}

/*
 * Each trial finds, among those that it was sampled with, the one that differs in what is compared
 * and in nothing else.
 */
static void test_ratios_find_their_trial(void **state)
{
	enum { SHARED, DENSE, PADDED, N = 8 };
	struct series group[N];
	struct invention inventions[N];
	json_t *list;

	(void)state;
	invent(&group[0], &inventions[0], "other size", 0, PADDED, 2, 2, 1);
	invent(&group[1], &inventions[1], "threads", 0, PADDED, 1, 4, 1);
	invent(&group[2], &inventions[2], "racy dense", 0, DENSE, 1, 2, 6);
	invent(&group[3], &inventions[3], "racy padded", 0, PADDED, 1, 2, 2);
	invent(&group[4], &inventions[4], "atomic padded", 1, PADDED, 1, 2, 8);
	invent(&group[5], &inventions[5], "atomic dense", 1, DENSE, 1, 2, 3);
	invent(&group[6], &inventions[6], "racy shared", 0, SHARED, 1, 2, 5);
	invent(&group[7], &inventions[7], "none", 1, PADDED, 2, 2, 7);
	group[7].samples = group[7].batches = 0;

	/* dense over padded, and over its namesake of the other variant */
	list = ratios_of(&group[2], group, N);
	assert_int_equal(json_array_size(list), 2);
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(list, 0), "parameter")), "words");
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(list, 1), "parameter")),
		"variant");
	expect_ratio(json_array_get(list, 0), "padded", "racy padded", 3);
	expect_ratio(json_array_get(list, 1), "atomic", "atomic dense", 2);
	json_decref(list);
	list = ratios_of(&group[3], group, N);
	assert_int_equal(json_array_size(list), 1);
	expect_ratio(json_array_get(list, 0), "atomic", "atomic padded", 0.25);
	json_decref(list);
	list = ratios_of(&group[5], group, N);
	assert_int_equal(json_array_size(list), 1);
	expect_ratio(json_array_get(list, 0), "padded", "atomic padded", 0.375);
	json_decref(list);
	/* alone in what they are, or the one that others are compared with, or not measured */
	for (unsigned i = 0; i < N; i++) {
		if (i == 2 || i == 3 || i == 5)
			continue;
		list = ratios_of(&group[i], group, N);
		assert_int_equal(json_array_size(list), 0);
		json_decref(list);
	}
	for (unsigned i = 0; i < N; i++)
		series_close(&group[i]);
}

/*
 * What is reported, with a scatter of its own; and what is the time turned over, of which more is
 * better.
 */
enum { COST, RATE };
static double three(const struct trial *t)
{
	(void)t;
	return 3;
}

static const struct metric ratio_metrics[] = { [COST] = { "cost", "1", "", LOWER_IS_BETTER, NULL },
					       [RATE] = { "rate", "1/s", "", HIGHER_IS_BETTER,
							  three },
					       { 0 } };
static const struct ratio metric_rows[] = {
	{ "slowdown", "in cost", P_VARIANT, "racy", "atomic", "cost" },
	{ "slowdown", "in rate", P_VARIANT, "racy", "atomic", "rate" },
	{ "slowdown", "in time", P_VARIANT, "racy", "atomic", NULL },
	{ 0 }
};

static void invent_cost(struct series *s, struct invention *i, struct benchmark *b, double cost)
{
	b->metrics = ratio_metrics;
	b->ratios = metric_rows;
	i->planned.trial.benchmark = b;
	free(s->value);
	s->value = calloc(2, sizeof(*s->value));
	s->value[COST] = calloc(s->samples, sizeof(**s->value));
	for (size_t n = 0; n < s->samples; n++)
		s->value[COST][n] = cost * (0.955 + 0.01 * (double)(n * 3 % s->samples));
}

static void test_a_ratio_of_another_number(void **state)
{
	static const char *const metrics_of[] = { "cost", "rate", "time" };
	/* the rate of `to` over that of `of`: more than 1 speaks for `to`, as ever */
	static const double values[] = { 5, 3, 3 };
	struct benchmark b = ratio_benchmark;
	struct series group[2];
	struct invention inventions[2];
	json_t *list;

	(void)state;
	invent(&group[0], &inventions[0], "racy", 0, 1, 1, 2, 6);
	invent(&group[1], &inventions[1], "atomic", 1, 1, 1, 2, 2);
	invent_cost(&group[0], &inventions[0], &b, 50);
	invent_cost(&group[1], &inventions[1], &b, 10);
	list = ratios_of(&group[0], group, 2);
	assert_int_equal(json_array_size(list), 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_string_equal(
			json_string_value(json_object_get(json_array_get(list, i), "metric")),
			metrics_of[i]);
		expect_ratio(json_array_get(list, i), "atomic", "atomic", values[i]);
	}
	json_decref(list);
	for (unsigned i = 0; i < 2; i++)
		series_close(&group[i]);
}

/* Of a trial without a time there is no ratio, and its status says what was the matter. */
static void test_no_ratio_without_a_time(void **state)
{
	struct series group[2];
	struct invention inventions[2];
	enum status status;
	json_t *line;

	(void)state;
	invent(&group[0], &inventions[0], "dense", 0, 1, 1, 2, 6);
	invent(&group[1], &inventions[1], "padded", 0, 2, 1, 2, 2);
	for (unsigned i = 0; i < group[1].batches; i++)
		group[1].time[i] = group[1].batch[i].estimate = group[1].batch[i].clean = NAN;
	for (unsigned i = 0; i < 2; i++) {
		line = summary(&group[i], group, 2, "now", &status);
		assert_int_equal(json_array_size(json_object_get(line, "ratios")), 0);
		assert_int_equal(status, i ? STATUS_FAILED : STATUS_OK);
		json_decref(line);
		series_close(&group[i]);
	}
}

static void test_rarely_together_is_a_note(void **state)
{
	struct series s;
	struct invention i;
	enum status status;
	json_t *line;

	(void)state;
	invent(&s, &i, "one", 0, 0, 1, 2, 1);
	s.time[3] = s.time[4] = NAN;
	line = summary(&s, &s, 1, "now", &status);
	assert_int_equal(status, STATUS_OK);
	assert_non_null(strstr(json_string_value(json_array_get(json_object_get(line, "notes"), 0)),
			       "2 of its 10 samples"));
	json_decref(line);
	series_close(&s);
}

static void test_never_together_is_said(void **state)
{
	struct benchmark together = ratio_benchmark;
	struct series s;
	struct invention i;
	enum status status;
	json_t *line;

	(void)state;
	invent(&s, &i, "one", 0, 0, 1, 2, 1);
	together.scored = TOGETHER;
	i.planned.trial.benchmark = &together;
	for (unsigned b = 0; b < s.batches; b++)
		s.time[b] = s.batch[b].estimate = s.batch[b].clean = NAN;
	line = summary(&s, &s, 1, "now", &status);
	/* others had the CPUs: no fault of the program's */
	assert_int_equal(status, STATUS_UNCONVERGED);
	assert_non_null(
		strstr(json_string_value(json_array_get(json_object_get(line, "reasons"), 0)),
		       "together"));
	json_decref(line);
	series_close(&s);
}

/*
 * A wide interval says so itself; that others disturbed what it holds, only the status does. Both
 * reasons are told.
 */
static void test_noise_is_graver_than_a_wide_interval(void **state)
{
	struct series s;
	struct invention i;
	enum status status;
	json_t *line;

	(void)state;
	invent(&s, &i, "one", 0, 0, 1, 2, 1);
	s.stopped = STOPPED_BUDGET;
	for (unsigned noisy = 0; noisy < 2; noisy++) {
		memset(s.noisy, (int)noisy, s.samples);
		line = summary(&s, &s, 1, "now", &status);
		assert_int_equal(status, noisy ? STATUS_NOISY : STATUS_UNCONVERGED);
		assert_int_equal(json_array_size(json_object_get(line, "reasons")), 1 + noisy);
		json_decref(line);
	}
	series_close(&s);
}

/* A note where the interval with counters does not meet the one without; none where they do. */
static void test_what_counting_costs_is_a_note(void **state)
{
	enum { BATCHES = 12 };
	struct batch batch[BATCHES];
	struct series s;
	struct invention i;
	enum status status;
	json_t *line, *counting;

	(void)state;
	invent(&s, &i, "one", 0, 0, 1, 2, 1);
	free(s.batch);
	s.batch = batch;
	s.batches = BATCHES;
	s.tally.passes = 1; /* every other batch counts */
	for (unsigned slower = 0; slower < 2; slower++) {
		for (unsigned b = 0; b < BATCHES; b++) {
			const unsigned turn = b / 2;

			batch[b] = (struct batch){ .first = b % 10,
						   .samples = 1,
						   .estimate = (b % 2 ? 1 : 1 + slower) *
							       (1 + 0.001 * turn) };
		}
		line = summary(&s, &s, 1, "now", &status);
		counting = json_object_get(line, "counting");
		assert_true(fabs(json_real_value(json_object_get(counting, "with")) -
				 (1 + slower) * 1.0025) < 1e-9);
		assert_true(fabs(json_real_value(json_object_get(counting, "without")) - 1.0025) <
			    1e-9);
		assert_int_equal(json_array_size(json_object_get(counting, "with_ci")), 2);
		assert_int_equal(json_array_size(json_object_get(line, "notes")), slower);
		if (slower)
			assert_non_null(strstr(json_string_value(json_array_get(
						       json_object_get(line, "notes"), 0)),
					       "counting changes its time"));
		json_decref(line);
	}
	s.batch = NULL;
	series_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_life_of_a_trial),
		cmocka_unit_test(test_calibration_finds_a_count),
		cmocka_unit_test(test_a_pause_is_no_unit),
		cmocka_unit_test(test_a_fixed_count_is_kept),
		cmocka_unit_test(test_a_deadline_ends_the_work),
		cmocka_unit_test(test_work_that_ends_by_itself),
		cmocka_unit_test(test_roles),
		cmocka_unit_test(test_roles_of_a_variant),
		cmocka_unit_test(test_a_worker_that_fails_ends_the_trial),
		cmocka_unit_test(test_batches_become_lines),
		cmocka_unit_test(test_a_sample_is_as_long_as_planned),
		cmocka_unit_test(test_a_fixed_count_is_no_deadline),
		cmocka_unit_test(test_a_fixed_count_may_be_none),
		cmocka_unit_test(test_fixed_work_is_scored_until_the_first_is_done),
		cmocka_unit_test(test_a_deadline_is_scored_while_all_are_at_work),
		cmocka_unit_test(test_samples_without_a_time_spoil_no_batch),
		cmocka_unit_test(test_every_pair_meets),
		cmocka_unit_test(test_one_worker_is_no_pair),
		cmocka_unit_test(test_a_skew_that_tells_is_noted),
		cmocka_unit_test(test_ratios_find_their_trial),
		cmocka_unit_test(test_a_ratio_of_another_number),
		cmocka_unit_test(test_no_ratio_without_a_time),
		cmocka_unit_test(test_rarely_together_is_a_note),
		cmocka_unit_test(test_never_together_is_said),
		cmocka_unit_test(test_noise_is_graver_than_a_wide_interval),
		cmocka_unit_test(test_what_counting_costs_is_a_note),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
