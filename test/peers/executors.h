/* SPDX-License-Identifier: Apache-2.0 */
/* Actors that write to themselves, as others would run them (executors.cc). */
#ifndef LOCUS_EXECUTORS_H
#define LOCUS_EXECUTORS_H

#include <stddef.h>
#include <stdint.h>

struct peers_work {
	unsigned threads;
	size_t actors, stride, words; /* stride: bytes from state to state; words of 4 in one */
	uint64_t touched, hops;	      /* words of a message; messages of each actor */
	char *states;
	/* counts messages of another actor than that of the thread's message before */
	uint64_t *rows; /* NULL: not counted */
};

static inline void peers_note(const struct peers_work *w, const void *actor)
{
	static __thread const void *last;

	if (!w->rows)
		return;
	if (actor != last)
		__atomic_fetch_add(w->rows, 1, __ATOMIC_RELAXED);
	last = actor;
}

#ifdef __cplusplus
extern "C" {
#endif

/* Each returns s; NAN: the library is not installed. */
double peers_task_group(const struct peers_work *);
double peers_enqueue(const struct peers_work *);
double peers_taskflow(const struct peers_work *);
double peers_caf(const struct peers_work *);

#ifdef __cplusplus
}
#endif

#endif
