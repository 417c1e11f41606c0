/* SPDX-License-Identifier: Apache-2.0 */
/* A trial without the harness: workers are run by hand, one after the other. */
#ifndef LOCUS_TEST_BY_HAND_H
#define LOCUS_TEST_BY_HAND_H

#include <string.h>

#include "benchmarks.h"
#include "machine/memory/arena.h"
#include "machine/topology/topology.h"

enum { MOST_THREADS = 16 };

struct trial_by_hand {
	struct trial trial;
	union value value[16];
	struct place place[MOST_THREADS];
	struct worker worker[MOST_THREADS];
	_Atomic bool stop;
	void *state;
};

static inline void set(struct trial_by_hand *h, const char *name, unsigned value)
{
	const struct parameter *p = h->trial.benchmark->parameters;

	for (unsigned i = 0; i < h->trial.benchmark->n_parameters; i++)
		if (strcmp(p[i].name, name) == 0) {
			if (p[i].type == P_CHOICE)
				h->value[i].choice = value;
			else
				h->value[i].count = value;
		}
}

static inline void prepare(struct trial_by_hand *h, const struct benchmark *benchmark,
			   const char *variant, unsigned threads, const char *parameter,
			   unsigned value)
{
	const char *error;

	memset(h, 0, sizeof(*h));
	h->trial = (struct trial){ .benchmark = benchmark,
				   .variant = benchmark->variants,
				   .value = h->value,
				   .threads = threads,
				   .place = h->place,
				   .machine = machine_open("core:16 pu:1", &error) };
	while (strcmp(h->trial.variant->name, variant))
		h->trial.variant++;
	set(h, "lines", 16);
	set(h, "word", 1);
	set(h, "padding", 128);
	set(h, parameter, value);
	assert_non_null(h->trial.machine);
	h->trial.arena = arena_open(h->trial.machine);
	assert_non_null(h->trial.arena);
	h->state = benchmark->ops.prepare(&h->trial);
	assert_non_null(h->state);
	if (benchmark->ops.reset)
		benchmark->ops.reset(h->state);
}

static inline const struct worker *run(struct trial_by_hand *h, unsigned worker, uint64_t count)
{
	struct worker *w = &h->worker[worker];

	*w = (struct worker){
		.index = worker, .threads = h->trial.threads, .count = count, .stop = &h->stop
	};
	h->trial.benchmark->ops.work(h->state, w);
	return w;
}

static inline void release(struct trial_by_hand *h)
{
	assert_null(h->trial.benchmark->ops.verify(h->state, &h->trial));
	h->trial.benchmark->ops.release(h->state);
	arena_close(h->trial.arena);
	machine_close((struct machine *)h->trial.machine);
}

#endif
