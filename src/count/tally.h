/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is counted beside a trial's samples. Each batch counts one pass; after all passes comes a
 * batch that counts nothing, so that each trial shows what counting costs.
 *
 * A count of a sample is valid only if every worker whose duty it is, on every rank, counted for
 * the whole sample. Extrapolated counts may be less than none in a sample (provider.h), and are
 * added up as they are: it is the sum of a batch that has to be a count, of each worker.
 */
#ifndef LOCUS_TALLY_H
#define LOCUS_TALLY_H

#include <stdbool.h>
#include <stddef.h>

#include "count/counting.h"

struct team;

/* Counts of one event over some samples. */
struct count_sum {
	double count, units; /* of all workers and ranks; units of the samples that counted it */
	size_t samples;
};

/* Events and passes are those of the trial's benchmark. */
struct tally {
	struct counting *counting; /* NULL: nothing is counted */
	const struct trial *trial;
	bool *duty; /* by event of the run, and worker (duties.h) */
	unsigned events, passes;
	unsigned *event, *pass; /* their numbers in the run */
	/* by event: why a batch of its pass has no count, the last of these; NULL: all have one */
	char **why;
	/* by event, of the sample at hand; behind them, its units */
	double *sample;
	/* by event and worker: of the batch at hand; of all samples, NAN: never its to count */
	double *of_batch, *of_worker;
	unsigned workers;      /* of all ranks, after tally_gather() */
	unsigned room;	       /* batches */
	struct count_sum *sum; /* by batch and event */
	double done;	       /* units of all samples, counted or not */
};

bool tally_open(struct tally *, struct counting *, const struct trial *); /* false: ENOMEM */
void tally_close(struct tally *);
bool tally_room(struct tally *, unsigned batches); /* false: ENOMEM */

/* Whether a batch counts anything; whether it counts this event of the trial's. */
bool tally_counts(const struct tally *, unsigned batch);
bool tally_counts_event(const struct tally *, unsigned batch, unsigned event);

/* Starts what the batch is to count. */
void tally_begin(struct tally *, struct team *, unsigned batch);
/*
 * After a sample in which the workers of the first role, so many, did so many units together. On
 * all ranks.
 */
void tally_add(struct tally *, unsigned batch, double done, unsigned workers);
void tally_end(struct tally *, struct team *, unsigned batch);

/* At the end of all: what each worker counted becomes known to all ranks. */
void tally_gather(struct tally *);

/* What came of an event of the trial's. */
const struct count_sum *tally_sum(const struct tally *, unsigned batch, unsigned event);
const char *tally_name(const struct tally *, unsigned event);
/* How many of what counting_per() names one unit of all workers (and ranks) holds. */
double tally_parts(const struct tally *);

#endif
