/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who counts each event, and in which pass. The first provider that knows the name and can start it
 * on the calling thread counts it. It is put into the first pass in which it starts together with
 * what is there already, whoever counts that: several providers share the processor's counters.
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
 * Takes some ms for each pass, on the thread that will be worker 0. False: ENOMEM. To be closed on
 * that thread, also then.
 */
bool schedule_open(struct schedule *, const char *const *names, unsigned n, bool multiplex);
void schedule_close(struct schedule *);

/* A pass, for all of one thread, unless a duty is set. */
struct pass schedule_pass(const struct schedule *, unsigned number);

#endif
