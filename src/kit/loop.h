/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop of work() for a whole sample: operations until the deadline, or a given number of them.
 * Inline, since an operation may be a single instruction.
 */
#ifndef LOCUS_LOOP_H
#define LOCUS_LOOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "machine/threads/team.h"

static inline bool loop_time_is_up(const struct worker *w)
{
	return atomic_load_explicit(w->stop, memory_order_relaxed);
}

/* Counts the workers that have begun the sample, in a benchmark that is scored TOGETHER. */
struct start {
	/*
	 * workers that must begin before work counts; 0: they outnumber CPUs, and never all run at
	 * once
	 */
	unsigned awaited;
	_Alignas(APART) _Atomic unsigned begun;
};

/* To be called before each sample, by reset(). */
static inline void start_reset(struct start *s)
{
	atomic_store_explicit(&s->begun, 0, memory_order_relaxed);
}

/*
 * The stop flag is checked after each 1/LOOP_LOOKS of the operations done so far, or to be done. So
 * checks (some ns each) are few and cost little, and little work is done after the flag was raised,
 * whatever the operations are and whether they are contended.
 */
enum { LOOP_LOOKS = 128 };
static inline uint64_t loop_block(uint64_t done, uint64_t count)
{
	return 1 + (count == UINT64_MAX ? done : count) / LOOP_LOOKS;
}

/*
 * Does operations(argument, n), n at once, until *stop or self->count of them are done, and sets
 * self->done and self->together.
 *
 * Until all workers have begun, it does one operation at a time, which self->together leaves out:
 * the first workers have no contention yet, and may do as many as in the whole sample after that.
 * Then it works in blocks. The flag was raised during the last one, of which half counts.
 */
static inline __attribute__((always_inline)) void loop(struct start *start, struct worker *self,
						       void (*operations)(void *, uint64_t n),
						       void *argument)
{
	const uint64_t count = self->count;
	uint64_t done = 0, before, n = 0;
	bool stopped = false;

	atomic_fetch_add_explicit(&start->begun, 1, memory_order_relaxed);
	while (done < count && !stopped &&
	       atomic_load_explicit(&start->begun, memory_order_relaxed) < start->awaited) {
		operations(argument, 1);
		done++;
		stopped = loop_time_is_up(self);
	}
	before = done;
	while (done < count && !stopped) {
		n = loop_block(done - before, count);
		n = n < count - done ? n : count - done;
		operations(argument, n);
		done += n;
		stopped = loop_time_is_up(self);
	}
	self->together = done - before - (stopped ? n / 2 : 0);
	if (count != UINT64_MAX) {
		operations(argument, count - done);
		done = count;
	}
	self->done = done;
}

#endif
