/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What work() does all the time of a sample: operations until the deadline, or so many. Inline, for
 * the operation may be one instruction.
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

/* Where the workers of a benchmark that is scored TOGETHER begin their sample. */
struct start {
	/* before what they do counts; 0: more workers than CPUs, which are never all at work */
	unsigned awaited;
	_Alignas(APART) _Atomic unsigned begun;
};

/* Before each sample, by reset(). */
static inline void start_reset(struct start *s)
{
	atomic_store_explicit(&s->begun, 0, memory_order_relaxed);
}

/*
 * Operations until the next look at the stop flag. Looks become rarer with what was done, or is to
 * be: so few that looking is little (some ns), so many that what is done after it was raised is.
 * What the operations are, and whether they are contended for, makes no difference.
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
 * Until all have begun, one by one: the first have what they contend for to themselves, and in the
 * time that the others take to come they may do as much as in a whole sample after it. Then in
 * blocks: in the last one the flag went up, and half of it counts.
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
