/* SPDX-License-Identifier: Apache-2.0 */
/* A crew of threads of the test's own, for each way of running actors. */
#ifndef LOCUS_CREWS_H
#define LOCUS_CREWS_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "bench/actors/crew.h"

enum { CREWS_THREADS = 4 }; /* more than CPUs, where tests run */

static const struct crews_kind {
	const char *name;
	const struct executor *executor;
	bool newest, any; /* any thread runs an actor */
} crews[] = {
	{ "dedicated", &executor_dedicated },
	{ "shuffled", &executor_shuffled },
	{ "pool", &executor_pool, .any = true },
	{ "stealing", &executor_stealing, .any = true },
	{ "stealing, newest", &executor_stealing, .newest = true, .any = true },
	{ "best", &executor_best, .any = true },
	{ "openmp", &executor_tasks }, /* the last: it may be missing */
};

static inline unsigned crews_number(void)
{
	return sizeof(crews) / sizeof(*crews) - (executor_no_tasks() != NULL);
}

struct crews_world {
	struct crew crew;
	struct actor *actor;
	void *memory;
};

static inline void crews_open(struct crews_world *w, const struct crews_kind *kind,
			      const struct crew *shape)
{
	struct crew *c = &w->crew;

	*c = *shape;
	c->executor = kind->executor;
	c->newest = kind->newest;
	c->batch = c->batch ? c->batch : 1;
	w->memory = apart_alloc(c->threads * crew_bytes(c->executor, c->threads, c->actors));
	w->actor = apart_alloc(c->actors * sizeof(*w->actor));
	assert_non_null(w->memory);
	assert_non_null(w->actor);
	crew_open(c, w->memory, 1);
	for (unsigned i = 0; i < c->actors; i++)
		w->actor[i].home = w->actor[i].on = i % c->threads;
}

static inline void crews_close(struct crews_world *w)
{
	crew_close(&w->crew);
	free(w->memory);
	free(w->actor);
}

struct crews_thread {
	pthread_t thread;
	struct crew *crew;
	unsigned me;
};

static inline void *crews_work(void *argument)
{
	const struct crews_thread *t = argument;

	crew_run(t->crew, t->me);
	return NULL;
}

static inline void crews_begin(struct crew *c, struct crews_thread *t)
{
	crew_start(c);
	for (unsigned i = 0; i < c->threads; i++) {
		t[i].crew = c;
		t[i].me = i;
		assert_int_equal(pthread_create(&t[i].thread, NULL, crews_work, &t[i]), 0);
	}
}

static inline void crews_end(const struct crew *c, struct crews_thread *t)
{
	for (unsigned i = 0; i < c->threads; i++)
		pthread_join(t[i].thread, NULL);
}

static inline void crews_run(struct crew *c)
{
	struct crews_thread t[CREWS_THREADS];

	crews_begin(c, t);
	crews_end(c, t);
}

#endif
