/* SPDX-License-Identifier: Apache-2.0 */
/* A trial of locks without the harness: its workers run one by one, or in a parallel region. */
#ifndef LOCUS_TEST_HALL_H
#define LOCUS_TEST_HALL_H

#include <string.h>
#include <omp.h>

#include "bench/locks/locks.h"
#include "benchmarks.h"
#include "machine/memory/arena.h"
#include "machine/topology/topology.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

enum { MOST = 9 };

struct hall {
	struct trial trial;
	union value value[5];
	struct place place[MOST];
	struct worker worker[MOST];
	_Atomic bool stop;
	struct state *state;
};

/* CPUs 0 and 1 are a core, 0 to 3 have a cache in common, 0 to 7 are node 0. */
static const char synthetic[] = "package:2 numa:1 l3:2 core:2 pu:2";
enum { CPUS_A_NODE = 8 };

static inline void plan(struct hall *h, const char *variant, unsigned threads, const int *cpus)
{
	const char *error;

	memset(h, 0, sizeof(*h));
	h->trial = (struct trial){ .benchmark = &locks_benchmark,
				   .variant = locks_benchmark.variants,
				   .value = h->value,
				   .threads = threads,
				   .place = h->place,
				   .oversubscribed = true, /* no worker waits for the others */
				   .machine = machine_open(synthetic, &error) };
	while (strcmp(h->trial.variant->name, variant))
		h->trial.variant++;
	h->value[LAYOUT].choice = LAYOUT_APART;
	h->value[LINES].count = 1;
	assert_non_null(h->trial.machine);
	for (unsigned i = 0; i < threads; i++) {
		const int cpu = cpus ? cpus[i] : (int)i;

		h->place[i] = (struct place){ cpu, cpu / CPUS_A_NODE };
		h->worker[i] = (struct worker){
			.index = i, .threads = threads, .place = h->place[i], .stop = &h->stop
		};
	}
}

static inline void end(struct hall *h)
{
	if (h->state)
		locks_benchmark.ops.release(h->state);
	if (h->trial.arena)
		arena_close(h->trial.arena);
	machine_close((struct machine *)h->trial.machine);
}

static inline void begin(struct hall *h)
{
	assert_null(locks_benchmark.needs(&h->trial).pointless);
	h->trial.arena = arena_open(h->trial.machine);
	assert_non_null(h->trial.arena);
	h->state = locks_benchmark.ops.prepare(&h->trial);
	if (!h->state && arena_refusal(h->trial.arena)) { /* nobody may choose nodes here */
		print_message("%s\n", arena_refusal(h->trial.arena));
		end(h);
		skip();
	}
	assert_non_null(h->state);
	for (unsigned i = 0; i < h->trial.threads; i++)
		locks_benchmark.ops.enter(h->state, &h->worker[i]);
	locks_benchmark.ops.reset(h->state);
}

static inline void visit(struct hall *h, unsigned thread, uint64_t turns)
{
	h->worker[thread].count = turns;
	locks_benchmark.ops.work(h->state, &h->worker[thread]);
}

static inline void visit_all(struct hall *h, uint64_t turns)
{
#pragma omp parallel num_threads(h->trial.threads) default(none) shared(h, turns)
	visit(h, (unsigned)omp_get_thread_num(), turns);
}

/* Sections that wrote, and followed a section of a thread at that distance. */
static inline uint64_t handed(const struct hall *h, unsigned thread, enum distance distance)
{
	const struct visitor *v = locks_visitor(h->state, thread);
	uint64_t all = 0;

	for (unsigned i = 0; i < v->threads; i++)
		all += v->distance[i] == distance ? v->from[i] : 0;
	return all;
}

static inline const char *wrong(struct hall *h)
{
	return locks_benchmark.ops.verify(h->state, &h->trial);
}

#endif
