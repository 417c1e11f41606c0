/* SPDX-License-Identifier: Apache-2.0 */
/* What one worker counts in a pass: starts its events, reads them at both ends of a task. */
#ifndef LOCUS_STATION_H
#define LOCUS_STATION_H

#include "count/providers.h"
#include "base/apart.h"

/* The events that are counted together, and by whom. */
struct pass {
	const struct providers *providers;
	struct wanted *wanted; /* all events, of this pass or not */
	unsigned n, number;
	/* by event and worker, whether it is that worker's to count; NULL: all in the pass are */
	const bool *duty;
	unsigned threads;
};

struct station {
	_Alignas(APART) void *set[PROVIDERS]; /* what runs; NULL: nothing of this provider */
	double *value;			      /* by event; NAN: not counted */
	/* by event: why it could not be started, or read; NULL: it could, or is not its to count */
	char **why;
	struct wanted **list; /* room for all events */
};

/* For n events; false: ENOMEM, and nothing is left to free. */
bool station_make(struct station *, unsigned n);
void station_free(struct station *, unsigned n);

/*
 * Starts what is this worker's to count, on the calling thread, which sits on that CPU. What can't
 * be started is left out, and has a reason. True: everything was started.
 */
bool station_start(struct station *, const struct pass *, unsigned worker, int cpu);
/* Before and after a task: then each value is what was counted in between. */
void station_read(struct station *, bool after);
/* On the same thread; values and reasons stay until the next start. */
void station_stop(struct station *, unsigned n);

#endif
