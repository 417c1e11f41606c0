/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of counting: all workers sit on one CPU, the first usable one, and are told which
 * events they count.
 */
#ifndef LOCUS_SEATS_H
#define LOCUS_SEATS_H

#include <sched.h>
#include <stdlib.h>

#include "count/counters.h"
#include "machine/threads/team.h"

static inline int a_cpu(void)
{
	cpu_set_t set;
	int cpu = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	while (!CPU_ISSET((size_t)cpu, &set))
		cpu++;
	return cpu;
}

static inline void seat(struct team *t, unsigned threads)
{
	struct place place[threads];
	unsigned culprit;

	for (unsigned i = 0; i < threads; i++)
		place[i] = (struct place){ a_cpu(), 0 };
	assert_int_equal(team_seat(t, place, threads, &culprit), 0);
}

/* The duties of the seated workers, with no other process beside us; to be freed. */
static inline bool *duties(const struct counters *c, struct team *t)
{
	const unsigned threads = team_threads(t);
	struct place place[threads];
	bool *duty;

	for (unsigned i = 0; i < threads; i++)
		place[i] = team_worker(t, i)->place;
	duty = counters_duties(c, place, threads, 0, NULL);
	assert_non_null(duty);
	return duty;
}

/* Starts every event of a pass on all workers; events of a package on the first worker. */
static inline void start(struct counters *c, struct team *t, unsigned pass)
{
	bool *duty = duties(c, t);

	counters_start(c, t, pass, duty);
	free(duty);
}

#endif
