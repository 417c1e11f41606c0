/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of the events counted during a trial's samples. Each batch counts one pass; after all passes
 * comes a batch that counts nothing, so that each trial shows the overhead of counting.
 *
 * A sample's count is valid only if every worker assigned to the event, on every rank, counted for
 * the whole sample. Extrapolated counts of a sample may be negative (provider.h) and are added up
 * as they are: only each worker's sum over a batch must not be negative.
 */
#ifndef LOCUS_TALLY_H
#define LOCUS_TALLY_H

#include <stdbool.h>
#include <stddef.h>

#include "count/counting.h"

struct team;

/* An event's count over some samples. */
struct count_sum {
	double count, units; /* over all workers and ranks; units of the samples that counted it */
	size_t samples;
};

/* It has only the events and passes that the trial's benchmark counts. */
struct tally {
	struct counting *counting; /* NULL: nothing is counted */
	const struct trial *trial;
	bool *duty; /* by event of the run, and worker: see counters_duties() */
	unsigned events, passes;
	unsigned *event, *pass; /* their indices in the run's lists */
	/* by event: why the last batch that failed to count it has no count; NULL: none failed */
	char **why;
	/* by event: counts of the current sample; at [events]: its units */
	double *sample;
	/* by event and worker: of the current batch; of all samples (NAN: not assigned) */
	double *of_batch, *of_worker;
	unsigned workers;      /* workers of all ranks, after tally_gather() */
	unsigned room;	       /* batches */
	struct count_sum *sum; /* by batch and event */
	double done;	       /* units of all samples, counted or not */
};

bool tally_open(struct tally *, struct counting *, const struct trial *); /* false: ENOMEM */
void tally_close(struct tally *);
bool tally_room(struct tally *, unsigned batches); /* false: ENOMEM */

/* Whether a batch counts anything; whether it counts this event of the trial. */
bool tally_counts(const struct tally *, unsigned batch);
bool tally_counts_event(const struct tally *, unsigned batch, unsigned event);

/* Starts the events of the batch's pass. */
void tally_begin(struct tally *, struct team *, unsigned batch);
/*
 * After a sample in which the workers of the first role (`workers` of them) did `done` units in
 * all. On all ranks.
 */
void tally_add(struct tally *, unsigned batch, double done, unsigned workers);
void tally_end(struct tally *, struct team *, unsigned batch);

/* At the end of the trial: makes each worker's counts known to all ranks. */
void tally_gather(struct tally *);

/* Results for an event of the trial. */
const struct count_sum *tally_sum(const struct tally *, unsigned batch, unsigned event);
const char *tally_name(const struct tally *, unsigned event);
/* How many units of counting_per() one unit of all workers (and ranks) has. */
double tally_amount(const struct tally *);

#endif
