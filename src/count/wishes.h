/* SPDX-License-Identifier: Apache-2.0 */
/* The events that --counters asks for: named there, or by benchmarks for `default`. */
#ifndef LOCUS_WISHES_H
#define LOCUS_WISHES_H

#include <stdbool.h>

struct benchmark;

/* An event of the list, or a row of a benchmark's default events. */
struct wish {
	const struct benchmark *benchmark; /* NULL: for all */
	char *events;			   /* "A|B": the first that can be counted */
	unsigned event;			   /* index of the one chosen, among the candidates */
};

struct wishes {
	struct wish *wish;
	unsigned n;
};

/* An event that a wish may choose. */
struct candidate {
	char *name;
	/* why some rank can't count it; NULL: all ranks can */
	char *why;
	bool proven; /* on all ranks */
};

struct candidates {
	struct candidate *of;
	unsigned n;
};

/*
 * Reads the wishes of a list, for the n benchmarks that will run. False: ENOMEM; to be freed in
 * either case.
 */
bool wishes_read(struct wishes *, const char *list, const struct benchmark *const *, unsigned n);
void wishes_free(struct wishes *);

/*
 * Adds all events named by wishes, without duplicates; each wish chooses its first. False: ENOMEM.
 */
bool wishes_collect(struct wishes *, struct candidates *);
/*
 * Each wish chooses its first event that has no `why`; if all have one, its first. Candidates that
 * no wish chose are dropped, since they would take passes. False: ENOMEM.
 */
bool wishes_choose(struct wishes *, struct candidates *);
void candidates_free(struct candidates *);

/* Whether an event is to be counted beside a benchmark's samples. */
bool wishes_mean(const struct wishes *, unsigned event, const struct benchmark *);

#endif
