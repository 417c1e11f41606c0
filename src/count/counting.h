/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is counted beside the times: the events that were asked for, what each trial's samples came
 * to, and what is said of that.
 */
#ifndef LOCUS_COUNTING_H
#define LOCUS_COUNTING_H

#include <stdbool.h>
#include <stddef.h>
#include <jansson.h>

#include "benchmark.h"
#include "harness/options.h"

struct series;
struct team;

/* Of a run. */
struct counting;

/*
 * Finds what was asked for with --counters, of the n benchmarks that will run, and says on stderr
 * what can't be counted. 0, or the status to exit with: nothing can be. NULL where nothing was
 * asked for. On the thread that will be worker 0; of several ranks, on all.
 */
int counting_open(struct counting **, const struct options *, const struct benchmark *const *,
		  unsigned n, const struct ranks *);
void counting_close(struct counting *);
/*
 * At the end of the run: 0, or the status to exit with, after a message: what could be tried never
 * counted anything. On all ranks.
 */
int counting_status(struct counting *);
/* The n-th event that is counted beside a benchmark's samples; NULL: there are no more. */
const char *counting_event(const struct counting *, const struct benchmark *, unsigned n);
json_t *counting_header_json(const struct counting *);

/* The pass of a batch in which nothing is counted. */
#define UNCOUNTED (~0u)

/* What counts are for each of: "line", or the benchmark's unit. */
const char *per_name(const struct benchmark *);

/* Of one event over some samples. */
struct sum {
	/* of all workers and ranks; units of the samples that counted it */
	double count, units;
	size_t samples;
};

/*
 * Of a trial. Events and passes are those of its benchmark. A sample has a count of an event where
 * all whose duty it was, on all ranks, counted it all through. Counts that are extrapolated may be
 * less than none in a sample (provider.h), and are added up as they are: it is the batch whose sum
 * has to be a count, of each worker, or has none.
 */
struct tally {
	struct counting *counting; /* NULL: nothing is counted */
	const struct trial *trial;
	bool *duty; /* by event of the run, and worker: counters_duties() */
	unsigned events, passes;
	unsigned *event, *pass; /* their numbers in the run */
	/* by event: why a batch of its pass has no count, the last of these; NULL: all have one */
	char **why;
	/* by event, of the sample at hand; behind them, its units */
	double *sample;
	/* by event and worker: of the batch at hand; of all samples, NAN: never its to count */
	double *of_batch, *of_worker;
	unsigned workers; /* of all ranks, after tally_gather() */
	unsigned room;	  /* batches */
	struct sum *sum;  /* by batch and event */
	double done;	  /* units of all samples, counted or not */
};

bool tally_open(struct tally *, struct counting *, const struct trial *); /* false: no memory */
void tally_close(struct tally *);
bool tally_room(struct tally *, unsigned batches);

/* Starts what the batch is to count, and says which pass that is: all in turn, then UNCOUNTED. */
unsigned tally_begin(struct tally *, struct team *, unsigned batch);
/*
 * After a sample in which the workers of the first role, so many, did so many units together. On
 * all ranks.
 */
void tally_add(struct tally *, unsigned batch, unsigned pass, double done, unsigned workers);
void tally_end(struct tally *, struct team *, unsigned batch, unsigned pass);

/* At the end of all: what each worker counted becomes known to all ranks. */
void tally_gather(struct tally *);

/*
 * `counters` of the samples line; and of the trial line, and its `counting`. `why`: there are no
 * samples because of that.
 */
json_t *tally_batch_json(const struct tally *, unsigned batch, unsigned pass);
json_t *counters_json(const struct series *, const char *why);
json_t *counting_json(const struct series *);
/*
 * Of a trial's events, by number: why most of the batches that were to count it have no count, and
 * how many have. NULL: most have, or none has.
 */
const char *counting_gap(const struct series *, unsigned event, unsigned *counted,
			 unsigned *batches);

#endif
