/* SPDX-License-Identifier: Apache-2.0 */
/* The events that --counters asks for: named there, or by benchmarks for `default`. */
#ifndef LOCUS_WISHES_H
#define LOCUS_WISHES_H

#include <stdbool.h>

struct benchmark;

/* An event of the list, or a row of a benchmark's set. */
struct wish {
	const struct benchmark *benchmark; /* NULL: for all */
	char *events;			   /* "A|B": the first that can be counted */
	unsigned event;			   /* which one that is, among the candidates */
};

struct wishes {
	struct wish *wish;
	unsigned n;
};

/* An event that can be meant. */
struct candidate {
	char *name;
	/* why this run can't count it, on whatever rank; NULL: all ranks can */
	char *why;
	bool proven; /* on all ranks */
};

struct candidates {
	struct candidate *of;
	unsigned n;
};

/* Of the n benchmarks that will run; false: ENOMEM, and to be freed in either case. */
bool wishes_read(struct wishes *, const char *list, const struct benchmark *const *, unsigned n);
void wishes_free(struct wishes *);

/* Adds all events that wishes name, each once, and means the first of each. False: ENOMEM. */
bool wishes_collect(struct wishes *, struct candidates *);
/*
 * Means the first of each that has no `why`; where all have, the first. Candidates that no wish
 * means are dropped: they would take passes. False: ENOMEM.
 */
bool wishes_choose(struct wishes *, struct candidates *);
void candidates_free(struct candidates *);

/* Whether an event is to be counted beside a benchmark's samples. */
bool wishes_mean(const struct wishes *, unsigned event, const struct benchmark *);

#endif
