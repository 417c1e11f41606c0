/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One trial while it is measured: its allocation at hand, how much work a sample is, and all that
 * was measured. allocation, calibrate and batch fill it, summary and samples_line tell it.
 */
#ifndef LOCUS_SERIES_H
#define LOCUS_SERIES_H

#include "benchmark.h"
#include "harness/sample/noise.h"
#include "harness/sample/pairs.h"
#include "harness/sample/placements.h"
#include "harness/plan/plan.h"
#include "base/statistics.h"
#include "count/markers.h"
#include "count/tally.h"
#include "machine/memory/placement.h"

/* What the main thread is doing to a trial while it is away from the books. */
#define SERIES_PREPARING "preparing"
#define SERIES_MEASURING "measuring"
#define SERIES_VERIFYING "checking"

struct batch {
	size_t first, samples; /* in the series' arrays */
	unsigned allocation;
	unsigned round; /* of its group: batches of a round were taken one after the other */
	/* the quantile of its samples, and of those without noise; NAN where all are noisy */
	double estimate, clean;
	double cycle;	/* s per core cycle beside it; 0 unknown */
	double at;	/* s from the run's start to its */
	uint64_t units; /* of a worker in each sample */
};

/* Why a trial ended where it did. */
enum stopped {
	STOPPED_NOT_RUN,
	STOPPED_CONVERGED,
	STOPPED_BUDGET,
	STOPPED_REPEATS,
	STOPPED_SIGNAL
};

struct series {
	struct planned *planned;
	/* this allocation */
	void *state;
	bool ready;	     /* prepared, entered, and not released yet */
	bool worked;	     /* there is an answer that can be right or wrong */
	bool warming;	     /* the count is that of needs.warm */
	struct pairs *pairs; /* NULL: all work at once */
	unsigned meetings;   /* of a pair in a batch */
	uint64_t did;	     /* units of worker 0 in the last execution */
	/* calibration */
	/* of each worker in each sample; 0 where work() decides */
	uint64_t units;
	double duration; /* s of a typical sample */
	/* s: the least seen between the first and the last start */
	double skew;
	unsigned per_batch; /* samples */
	/* what was measured */
	size_t samples, room;
	double *time; /* s per unit */
	double *skews;
	unsigned char *noisy;
	/* of each metric that collect() reports, by sample; NULL for the others */
	double **value;
	struct reports *reports;       /* what they have beyond a value */
	struct throughput *throughput; /* of each role */
	unsigned batches, batch_room, allocations;
	unsigned complete, told; /* batches: that came to their end; that are in the record */
	struct batch *batch;
	struct noise noise;
	struct tally tally; /* of events */
	struct placements placements;
	char *failure, *impossible, *wrong; /* what went wrong; NULL */
	double elapsed;			    /* s of its own */
	double overhead;		    /* s that the clock takes to be read */
	enum stopped stopped;
	/* LIKWID's region around each batch */
	struct markers *markers; /* NULL: it has none */
	unsigned region;
	double marked; /* s of samples taken in it */
};

/* At the end of all: noise, counts and placement become those of all ranks. */
void series_gather(struct series *);

/*
 * Of one allocation, or of all (allocation < 0): the time; or of another statistic, given by batch.
 */
struct estimate series_estimate(const struct series *, int allocation, const double *of);

/* Half an interval's width over its estimate: within this, a trial has converged. */
#define SERIES_CONVERGED_WITHIN 0.01
/*
 * Of the time, in one allocation or in all; false where there is no interval, true where it has
 * failed.
 */
bool series_converged(const struct series *, int allocation);

#endif
