/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's counters in a pass: starts its events, reads them before and after a task. */
#ifndef LOCUS_STATION_H
#define LOCUS_STATION_H

#include "count/providers.h"
#include "base/apart.h"

/* The events that are counted together, and by which workers. */
struct pass {
	const struct providers *providers;
	struct wanted *wanted; /* all events, of this pass or not */
	unsigned n, number;
	/* by event and worker: whether that worker counts it; NULL: all count all */
	const bool *duty;
	unsigned threads;
};

struct station {
	_Alignas(APART) void *set[PROVIDERS]; /* of started events; NULL: none of this provider */
	double *value;			      /* by event; NAN: not counted */
	/* by event: why it could not be started or read; NULL: it could, or is not assigned */
	char **why;
	struct wanted **list; /* room for all events */
};

/* For n events; false: ENOMEM, and nothing is left to free. */
bool station_make(struct station *, unsigned n);
void station_free(struct station *, unsigned n);

/*
 * Starts the events assigned to this worker on the calling thread, which runs on `cpu`. Events that
 * can't be started are left out, with a reason. True: all were started.
 */
bool station_start(struct station *, const struct pass *, unsigned worker, int cpu);
/* Before and after a task; after it, `value` has the task's counts. */
void station_read(struct station *, bool after);
/* On the same thread; values and reasons stay valid until the next start. */
void station_stop(struct station *, unsigned n);

#endif
