/* SPDX-License-Identifier: Apache-2.0 */
/* A provider counts events: the kernel, perf_event_open or PAPI. Each is a table of functions. */
#ifndef LOCUS_PROVIDER_H
#define LOCUS_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "count/event.h"

/* A requested event, with what its provider needs to count it. */
struct wanted {
	struct event event;
	unsigned index;			 /* index in the list of requested events */
	const struct provider *provider; /* NULL: it can't be counted */
	uint64_t type, code;		 /* the provider's encoding of it */
	double factor;			 /* multiplies a count to give the event's unit */
};

struct provider {
	const char *source;
	/*
	 * Loads the library that is passed to the other functions; NULL with a reason. A provider
	 * without open() has none, and the others get NULL.
	 */
	void *(*open)(bool multiplex, struct reason *);
	void (*close)(void *library);
	/*
	 * Whether it knows this name; else false with a reason. Sets type and code, and overrides
	 * the defaults: unit "1", SCOPE_THREAD, package 0, not proven, factor 1.
	 */
	bool (*find)(void *library, struct wanted *, struct reason *);
	/*
	 * Starts the n events on the calling thread, which runs on `cpu`. NULL with a reason:
	 * *failed is the first that can't be started; with n > 1 counters may have run out.
	 */
	void *(*start)(void *library, struct wanted *const *, unsigned n, int cpu, bool multiplex,
		       const struct wanted **failed, struct reason *);
	/*
	 * Before a task, stores the counts; after it, sets value[index] to the difference, in the
	 * event's unit. NAN: unknown, because the event was not counted throughout or, if
	 * multiplexed, not at all. A multiplexed count is the difference of two estimates, and
	 * negative where the second corrects the first downwards: only the sum over tasks is
	 * meaningful.
	 */
	void (*read)(void *set, bool after, double *value);
	/*
	 * Whether, and why, an event could not be read since the start. NULL: the provider cannot
	 * tell.
	 */
	bool (*unread)(const void *set, unsigned index, struct reason *);
	void (*stop)(void *set); /* on the thread that started it; frees the set */
	/* Calls each(argument, name) for all names that it knows; may be NULL. */
	void (*names)(void *library, void (*each)(void *, const char *), void *argument);
	/* The library's version: "7.0.0.0"; may be NULL. */
	const char *(*version)(const void *library);
};

/* Counters that the kernel keeps for each thread anyway (kernel.c). */
extern const struct provider kernel_provider;

#endif
