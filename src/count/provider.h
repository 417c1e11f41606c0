/* SPDX-License-Identifier: Apache-2.0 */
/* What counts events: the kernel, perf_event_open or PAPI. Each is a row of functions. */
#ifndef LOCUS_PROVIDER_H
#define LOCUS_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "count/event.h"
#include "count/reason.h"

/* An event that was asked for, with what its provider needs to count it. */
struct wanted {
	struct event event;
	unsigned index;			 /* in the list of events that were asked for */
	const struct provider *provider; /* NULL: it can't be counted */
	uint64_t type, code;		 /* the provider's own names for it */
	double factor;			 /* a count times this is in the event's unit */
};

struct provider {
	const char *source;
	/*
	 * Loads the library that the other functions are handed. NULL: it can't be had. Without
	 * open() there is none, and the others are handed NULL.
	 */
	void *(*open)(bool multiplex, struct reason *);
	void (*close)(void *library);
	/*
	 * Whether it knows this name. Sets event.unit, scope, package, proven and all below `event`
	 * where they are other than "1", SCOPE_THREAD, 0, false and 0; factor where it is not 1.
	 */
	bool (*find)(void *library, struct wanted *, struct reason *);
	/*
	 * Starts the n events on the calling thread, which sits on that CPU. NULL: *failed is the
	 * first that can't be started; with n > 1 that may be for want of counters.
	 */
	void *(*start)(void *library, struct wanted *const *, unsigned n, int cpu, bool multiplex,
		       const struct wanted **failed, struct reason *);
	/*
	 * Before a task, remembers; after it, sets value[index] to what was counted in between, in
	 * the event's unit. NAN: unknown, since it was not counted all the time, or, where counts
	 * are extrapolated, at no time. An extrapolated count is the difference of two estimates:
	 * the later one may correct the earlier one downwards, so a single count may be 0 or less,
	 * and only the sum over tasks has a meaning.
	 */
	void (*read)(void *set, bool after, double *value);
	/* Whether an event could not be read since the start, and why. NULL: not known. */
	bool (*unread)(const void *set, unsigned index, struct reason *);
	void (*stop)(void *set); /* on the thread that started it; gives everything back */
	/* Calls each(argument, name) for all names that it knows. NULL: none to tell. */
	void (*names)(void *library, void (*each)(void *, const char *), void *argument);
	/* Of the library: "7.0.0.0". NULL: it has none. */
	const char *(*version)(const void *library);
};

#endif
