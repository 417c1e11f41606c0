/* SPDX-License-Identifier: Apache-2.0 */
/* A requested event, how this machine can count it, or why it cannot. */
#ifndef LOCUS_EVENT_H
#define LOCUS_EVENT_H

#include <stdbool.h>

/* A word of --counters that stands for the events that a benchmark names; it is no event. */
#define EVENT_DEFAULT "default"

/* Each worker counts for itself, or one worker counts for its package (uncore, RAPL). */
enum scope { SCOPE_THREAD, SCOPE_PACKAGE };

/*
 * The package of an event with SCOPE_PACKAGE: the kernel's number (0, 1, ...), each package, or the
 * whole host.
 */
enum package { PACKAGE_EACH = -1, PACKAGE_NODE = -2 };

/* The package of a CPU, by the kernel's number; -1: the kernel does not say. */
int package_of(int cpu);

struct event {
	const char *name;   /* as asked for */
	const char *source; /* "papi", "perf", "kernel"; NULL: it can't be counted */
	const char *unit;   /* "1"; or the library's: "s", "J"... */
	enum scope scope;
	int package;
	unsigned pass; /* the pass that counts it, 0, 1, ... */
	/* a zero is credible: the event counted in the probe, or the kernel counts it */
	bool proven;
	/* why it can't be counted, and what to do about it, in one line; NULL: it can */
	char *why;
};

/* Why something can't be counted, and the command that would change that. */
struct reason {
	char what[320];	  /* one line */
	char remedy[192]; /* a command; "": none is known */
};

/* Sets `what`; clears the remedy. */
void reason_set(struct reason *, const char *format, ...) __attribute__((format(printf, 2, 3)));
void reason_set_remedy(struct reason *, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* "what: remedy", the caller's to free; NULL: ENOMEM. */
char *reason_line(const struct reason *);

/*
 * Whether this errno means that file descriptors ran out; if so, sets the reason, with how to raise
 * the limit.
 */
bool reason_too_few_files(int error, struct reason *);

#endif
