/* SPDX-License-Identifier: Apache-2.0 */
/* A crew with its memory, its actors and its own threads, for tests and peers. */
#ifndef LOCUS_CREW_WORLD_H
#define LOCUS_CREW_WORLD_H

#include <pthread.h>
#include <stdlib.h>

#include "bench/actors/crew.h"

struct crew_world {
	struct crew crew;
	struct actor *actor;
	void *memory;
};

/* The caller has set the fields of w->crew above `memory`. Ends the program if out of memory. */
static inline void crew_world_open(struct crew_world *w)
{
	struct crew *c = &w->crew;

	w->memory = apart_alloc(c->threads * crew_bytes(c->executor, c->threads, c->actors));
	w->actor = apart_alloc(c->actors * sizeof(*w->actor));
	if (!w->memory || !w->actor)
		abort();
	crew_open(c, w->memory, 1);
	for (unsigned i = 0; i < c->actors; i++)
		w->actor[i].home = w->actor[i].on = i % c->threads;
}

static inline void crew_world_close(struct crew_world *w)
{
	crew_close(&w->crew);
	free(w->memory);
	free(w->actor);
}

struct crew_thread {
	pthread_t thread;
	struct crew *crew;
	unsigned me;
};

static inline void *crew_thread_work(void *argument)
{
	const struct crew_thread *t = argument;

	crew_run(t->crew, t->me);
	return NULL;
}

/*
 * Starts a thread for each of the crew's; ends the program if one can't be started. A crew with
 * threads of its own is run by the caller of crew_threads_end(), which is always the same: memory
 * of tasks that libomp keeps for a thread that has ended is corrupt (libomp 14 and 19).
 */
static inline void crew_threads_begin(struct crew *c, struct crew_thread *t)
{
	for (unsigned i = c->executor->own_threads; i < c->threads; i++) {
		t[i].crew = c;
		t[i].me = i;
		if (pthread_create(&t[i].thread, NULL, crew_thread_work, &t[i]))
			abort();
	}
}

static inline void crew_threads_end(struct crew *c, struct crew_thread *t)
{
	if (c->executor->own_threads)
		crew_run(c, 0);
	for (unsigned i = c->executor->own_threads; i < c->threads; i++)
		pthread_join(t[i].thread, NULL);
}

#endif
