/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assigns each event a provider and a pass. The provider is the first that knows the name and can
 * start it on the calling thread; the pass is the first in which it starts together with the events
 * already there, of all providers, since they share the processor's counters.
 */
#ifndef LOCUS_SCHEDULE_H
#define LOCUS_SCHEDULE_H

#include "base/apart.h"
#include "count/provider.h"

/*
 * All providers, in the order in which they are asked for a name. perf's software events come
 * before PAPI, which counts in user space only, where for instance perf::CONTEXT-SWITCHES reads 0.
 */
enum { PROVIDER_KERNEL, PROVIDER_SOFTWARE, PROVIDER_PAPI, PROVIDER_HARDWARE, PROVIDERS };
extern const struct provider *const provider_table[PROVIDERS];

/* The state of all providers for one list of events; initialised as { .multiplex = ... }. */
struct providers {
	bool multiplex;
	struct {
		bool asked; /* open() was called */
		void *library;
		struct reason why; /* why open() failed */
	} of[PROVIDERS];
};

/* Whether the provider is usable; loads its library on the first call. */
bool providers_reach(struct providers *, unsigned provider);
void providers_close(struct providers *);

/* Calls each(argument, name) for all names of the providers that are loaded. */
void providers_names(const struct providers *, void (*each)(void *, const char *), void *argument);

/* The events that are counted together, and by which workers. */
struct pass {
	const struct providers *providers;
	struct wanted *wanted; /* all events, of this pass or not */
	unsigned n, number;
	/* by event and worker: whether that worker counts it; NULL: all count all */
	const bool *duty;
	unsigned threads;
};

/* A worker's counters in a pass: starts its events, reads them before and after a task. */
struct station {
	_Alignas(APART) void *set[PROVIDERS]; /* of started events; NULL: none of this provider */
	double *value;			      /* by event; NAN: not counted */
	/* by event: why it could not be started or read; NULL: no fault, or not assigned */
	char **why;
	struct wanted **list; /* room for all events */
};

/* Makes a station for n events; false: ENOMEM, and nothing is left to free. */
bool station_make(struct station *, unsigned n);
void station_free(struct station *, unsigned n);

/*
 * Starts the events assigned to this worker on the calling thread, which runs on `cpu`. Events that
 * can't be started are left out, with a reason. True: all were started.
 */
bool station_start(struct station *, const struct pass *, unsigned worker, int cpu);

/* To be called before and after a task; after it, `value` has the task's counts. */
void station_read(struct station *, bool after);

/* To be called on the same thread; values and reasons stay valid until the next start. */
void station_stop(struct station *, unsigned n);

/*
 * Which events really count. A zero may be true, or the counter may be dead: in virtual machines
 * and on emulated processors some events can be opened and always read 0. So each event is tried on
 * work that does a little of everything; an event that counts there is proven.
 */

/* Tries the events of this pass, and sets event.proven if they count more than 0. */
void station_probe(struct station *, const struct pass *);

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
