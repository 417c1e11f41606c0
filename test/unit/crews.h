/* SPDX-License-Identifier: Apache-2.0 */
/* Crews of threads that the test starts, one for each way of running actors. */
#ifndef LOCUS_CREWS_H
#define LOCUS_CREWS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "crew_world.h"

enum { CREWS_THREADS = 4 }; /* more than the CPUs of usual test machines */

static const struct crews_kind {
	const char *name;
	const struct executor *executor;
	bool newest, any; /* `any`: an actor may run on any thread */
} crews[] = {
	{ "dedicated", &executor_dedicated },
	{ "shuffled", &executor_shuffled },
	{ "pool", &executor_pool, .any = true },
	{ "stealing", &executor_stealing, .any = true },
	{ "stealing, newest", &executor_stealing, .newest = true, .any = true },
	{ "best", &executor_best, .any = true },
	{ "openmp", &executor_tasks }, /* last, since it may be missing */
};

static inline unsigned crews_number(void)
{
	return sizeof(crews) / sizeof(*crews) - (executor_no_tasks() != NULL);
}

static inline void crews_open(struct crew_world *w, const struct crews_kind *kind,
			      const struct crew *shape)
{
	struct crew *c = &w->crew;

	*c = *shape;
	c->executor = kind->executor;
	c->newest = kind->newest;
	c->batch = c->batch ? c->batch : 1;
	crew_world_open(w);
}

static inline void crews_begin(struct crew *c, struct crew_thread *t)
{
	crew_start(c);
	crew_threads_begin(c, t);
}

static inline void crews_run(struct crew *c)
{
	struct crew_thread t[CREWS_THREADS];

	crews_begin(c, t);
	crew_threads_end(c, t);
}

#endif
