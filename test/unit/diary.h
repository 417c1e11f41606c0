/* SPDX-License-Identifier: Apache-2.0 */
/* A measured trial for tests, whose callbacks keep a diary. */
#ifndef LOCUS_DIARY_H
#define LOCUS_DIARY_H

#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "harness/sample/series.h"
#include "machine/clock.h"
#include "machine/topology/topology.h"

enum { THREADS = 5 };
/* In most tests. */
enum { ALLOCATIONS = 2, BATCHES = 2, SAMPLES = 2 };

/* The arguments of the callbacks, in order. */
struct diary {
	unsigned prepared, entered, reset, collected, verified, released;
	struct {
		_Alignas(APART) uint64_t count, calls;
		unsigned role;
	} of[THREADS];
};

static inline struct diary *the_diary(const struct trial *t)
{
	return (struct diary *)t->variant->data;
}

static inline void *prepare(const struct trial *t)
{
	the_diary(t)->prepared++;
	return the_diary(t);
}

static inline void enter(void *state, struct worker *w)
{
	if (w->index == 0)
		((struct diary *)state)->entered++;
}

static inline void reset(void *state)
{
	((struct diary *)state)->reset++;
}

static inline void note(struct diary *d, const struct worker *w)
{
	d->of[w->index].count = w->count;
	d->of[w->index].role = w->role;
	d->of[w->index].calls++;
}

static inline void turn(struct worker *w)
{
	double end = clock_now() + 1e-6;

	while (clock_now() < end)
		;
	w->done++;
	if (w->done % 100 == 0)
		sched_yield(); /* the tests may have one CPU for all threads */
}

static inline void by_count(void *state, struct worker *w)
{
	note(state, w);
	while (w->done < w->count)
		turn(w);
}

static inline void by_flag(void *state, struct worker *w)
{
	note(state, w);
	while (!atomic_load(w->stop))
		turn(w);
}

static inline void by_role(void *state, struct worker *w)
{
	if (w->role == 0)
		by_count(state, w);
	else
		by_flag(state, w);
}

static inline void to_the_end(void *state, struct worker *w)
{
	note(state, w);
	for (unsigned i = 0; i < 50; i++)
		turn(w);
}

static inline void collect(void *state, const struct trial *t, struct result *r)
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

static inline void release(void *state)
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
/* Units of all three workers: the first two do one more than the third. */
enum { FIXED = 122 };

struct bench {
	struct diary diary;
	struct variant variant[2];
	struct benchmark benchmark;
	struct machine *machine;
	struct place place[THREADS];
	struct planned planned;
	struct series series;
	unsigned batches, samples, allocations; /* samples 0: the usual number of a batch */
};

static inline int measure(struct team *team, void *argument)
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

static inline void set_up(struct bench *b, void (*work)(void *, struct worker *), unsigned threads,
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

static inline void go(struct bench *b)
{
	assert_int_equal(team_open(b->planned.trial.threads, measure, b), 0);
}

static inline void run(struct bench *b, void (*work)(void *, struct worker *), unsigned threads,
		       struct benchmark benchmark)
{
	set_up(b, work, threads, benchmark);
	go(b);
}

static inline void end(struct bench *b)
{
	series_close(&b->series);
	machine_close(b->machine);
}

#endif
