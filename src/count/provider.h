/* SPDX-License-Identifier: Apache-2.0 */
/* Behind counters.h: those who count. A provider is a row of a table in counters.c. */
#ifndef LOCUS_PROVIDER_H
#define LOCUS_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "count/counters.h"

/* PER_PACKAGE: a package by its number (0, 1, ...), or one of these. */
enum { EACH_PACKAGE = -1, WHOLE_NODE = -2 };

/* An event that somebody asked for. */
struct wanted {
	struct event event;
	unsigned index;			 /* of it, in the list of the counters */
	const struct provider *provider; /* NULL: it can't be counted */
	int package;			 /* that it is about; PER_PACKAGE only */
	uint64_t type, code;		 /* the provider's own names for it */
	double factor;			 /* count times this is in the event's unit */
};

struct provider {
	const char *source;
	/*
	 * What the others are handed as `library`. NULL: it can't be had. Without open(), that is
	 * NULL, and fine.
	 */
	void *(*open)(bool multiplex, struct reason *);
	void (*close)(void *library);
	/*
	 * Whether it knows this name: fills in `wanted` from event.unit on, as far as it is other
	 * than 1, per thread and not proven.
	 */
	bool (*find)(void *library, struct wanted *, struct reason *);
	/*
	 * Makes and starts the n events on the calling thread, which sits on that CPU. NULL:
	 * *failed is the first that it can't be done for. That may be for want of counters, if n is
	 * more than 1.
	 */
	void *(*start)(void *library, struct wanted *const *, unsigned n, int cpu, bool multiplex,
		       const struct wanted **failed, struct reason *);
	/*
	 * Before a task, remembers; after it, sets value[index] to what was counted in between, in
	 * the event's unit. NAN: that is not known, since it was not counted all the time, or,
	 * where it is extrapolated, at no time. What is extrapolated is the difference of two
	 * estimates, as it is: the later one may take back what the first had too much, so it may
	 * be 0 or less, and only the sum over tasks means something.
	 */
	void (*read)(void *set, bool after, double *value);
	/* Whether an event could not be read since the start, and why. NULL: they don't say. */
	bool (*unread)(const void *set, unsigned index, struct reason *);
	void (*stop)(void *set); /* on the thread that started it; gives everything back */
};

extern const struct provider perf_software, perf_hardware, papi;

void because(struct reason *, const char *format, ...) __attribute__((format(printf, 2, 3)));
void remedied(struct reason *, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Whether the error was for want of a file descriptor, and what to do about it. */
bool too_few_files(int error, struct reason *);

int package_of(int cpu); /* by the kernel's number; -1: it does not say */

/* Calls each(argument, name) for all names that perf knows. */
void perf_names(void (*each)(void *, const char *), void *argument);
/* Why the processor's counters can't be opened, if so. */
bool hardware_why(struct reason *);
/* Why a package's can't be. */
void uncore_why(struct reason *);
/* Whether LIKWID has them, and nobody else may touch them. */
bool hardware_owned(struct reason *);

/* Calls each(argument, name) for all names that PAPI knows here. */
void papi_names(void *library, void (*each)(void *, const char *), void *argument);
const char *papi_version(const void *library);
unsigned papi_presets(void *library, struct reason *); /* that can be counted here; 0: why */

#endif
