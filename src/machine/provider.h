/* SPDX-License-Identifier: Apache-2.0 */
/* Behind counters.h: those who count. A provider is a row of a table in counters.c. */
#ifndef LOCUS_PROVIDER_H
#define LOCUS_PROVIDER_H

#include <stdbool.h>
#include <stdint.h>

#include "machine/counters.h"

enum { WHY = 512 }; /* bytes of a reason */

/* PER_PACKAGE: a package by its number (0, 1, ...), or one of these. */
enum { EACH_PACKAGE = -1, WHOLE_NODE = -2 };

/* An event that somebody asked for. */
struct wanted {
	struct event event;
	unsigned index;                    /* of it, in the list of the counters */
	const struct provider *provider;   /* NULL: none knows it */
	int package;                       /* that it is about; PER_PACKAGE only */
	uint64_t type, code;               /* the provider's own names for it */
	double factor;                     /* count times this is in the event's unit */
};

struct provider {
	const char *source;
	/* Whether it knows this name; then it fills in unit, scope, and what follows in `wanted`. Else it may say why not. */
	bool (*find)(struct wanted *, char why[WHY]);
	/*
	 * Makes and starts the n events on the calling thread, which sits on that CPU. NULL: *failed is the event that it fails for, `why` the reason, in
	 * which nothing is said of a lack of counters if `n` is more than 1.
	 */
	void *(*start)(struct wanted *const *, unsigned n, int cpu, bool multiplex, const struct wanted **failed, char why[WHY]);
	/* Before a task, remembers; after it, sets value[index] to what was counted in between, in the event's unit; NAN: not all the time. */
	void (*read)(void *set, bool after, double *value);
	void (*stop)(void *set); /* on the thread that started it; gives everything back */
};

#endif
