/* SPDX-License-Identifier: Apache-2.0 */
/* A run's counters: which events, and whether any was ever counted. */
#ifndef LOCUS_COUNTING_H
#define LOCUS_COUNTING_H

#include <jansson.h>
#include <stdbool.h>

#include "benchmark.h"
#include "count/counters.h"

/* The options of the command line. */
struct counting_asked {
	const char *list; /* "default,PAPI_TOT_INS": no empty and no repeated names */
	bool optional;	  /* the run continues if nothing can be counted */
	bool multiplex;
};

/* The events that --counters asks for: named there, or by benchmarks for `default`. */

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

/* Only counting.c writes to it. */
struct counting {
	struct counting_asked asked;
	const struct ranks *ranks;
	struct wishes wishes;
	struct candidates events; /* of the run */
	struct counters *counters;
	/* over all trials */
	bool tried, counted; /* a batch was due to count an event; a batch did count one */
	char *failure;	     /* the first reason for having no count */
};

/*
 * Finds the events asked for, for the n benchmarks that will run, and says on stderr which can't be
 * counted and why. To be called on all ranks, on the thread that will be worker 0. To be closed in
 * any case.
 */
enum counting_outcome { COUNTING_READY, COUNTING_IMPOSSIBLE, COUNTING_NO_MEMORY };

enum counting_outcome counting_open(struct counting **, struct counting_asked,
				    const struct benchmark *const *, unsigned n,
				    const struct ranks *);

void counting_close(struct counting *); /* NULL is fine */

/* After a batch that was due to count an event: notes whether it did, or why not. */
void counting_learn(struct counting *, bool counted, const char *why);

/*
 * At the end of the run, on all ranks: false, after a message, if events were tried, none was ever
 * counted, and counting is not optional. NULL: no events were requested.
 */
bool counting_succeeded(const struct counting *);

/* The n-th event that is counted beside a benchmark's samples; NULL: there are no more. */
const char *counting_event(const struct counting *, const struct benchmark *, unsigned n);

/* The unit that a count is divided by: "line", or the benchmark's unit. */
const char *counting_per(const struct benchmark *);
const char *counting_scope(const struct event *); /* "thread", "package" */

/* `counters` of the run line; NULL: nothing was asked for. */
json_t *counting_header_json(const struct counting *);

/* Whether an event is to be counted beside a benchmark's samples. */
bool wishes_mean(const struct wishes *, unsigned event, const struct benchmark *);

#endif
