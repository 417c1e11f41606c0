/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assigns each event a provider and a pass. The provider is the first that knows the name and can
 * start it on the calling thread; the pass is the first in which it starts together with the events
 * already there, of all providers, since they share the processor's counters.
 */
#ifndef LOCUS_SCHEDULE_H
#define LOCUS_SCHEDULE_H

#include "count/station.h"

struct schedule {
	struct providers providers;
	struct wanted *wanted; /* in the order of the names */
	unsigned n, passes;    /* 0 passes: nothing can be counted */
};

/*
 * Takes some ms a pass. To be called on the thread that will be worker 0. False: ENOMEM. To be
 * closed in any case, on the same thread.
 */
bool schedule_open(struct schedule *, const char *const *names, unsigned n, bool multiplex);
void schedule_close(struct schedule *);

/* The pass of this number. `duty` is NULL: each worker counts all of its events. */
struct pass schedule_pass(const struct schedule *, unsigned number);

#endif
