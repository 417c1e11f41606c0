/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One trial while it is measured: allocations of it, batches of samples, and the evidence beside
 * each.
 */
#ifndef LOCUS_MEASURE_H
#define LOCUS_MEASURE_H

#include "benchmark.h"
#include "count/counting.h"
#include "harness/pairs.h"
#include "harness/plan.h"
#include "harness/record.h"
#include "harness/statistics.h"
#include "machine/clock.h"
#include "count/markers.h"

/* Raw samples of a trial that go into the record; beyond that, quantiles of each batch. */
#define MOST_RAW_SAMPLES 10000

/* Sums over timed samples and workers. */
struct noise {
	double wall, off_cpu, delay, steal, foreign; /* s; NAN: unknown */
	uint64_t involuntary, voluntary, minor_faults, major_faults, migrations;
};

struct batch {
	size_t first, samples; /* in the series' arrays */
	unsigned allocation;
	/* the quantile of its samples, and of those without noise; NAN where all are noisy */
	double estimate, clean;
	double cycle; /* s per core cycle beside it; 0 unknown */
	/* of the counters; UNCOUNTED: nothing is counted beside it */
	unsigned pass;
};

/* Why a trial ended where it did. */
enum stopped { NOT_RUN, CONVERGED, BUDGET, REPEATS, SIGNAL };

struct series {
	struct planned *planned;
	/* this allocation */
	void *state;
	bool ready;	     /* prepared, entered, and not released yet */
	bool worked;	     /* there is an answer that can be right or wrong */
	bool warming;	     /* the count is that of warm() */
	struct pairs *pairs; /* NULL: all work at once */
	unsigned meetings;   /* of a pair in a batch */
	uint64_t did;	     /* units of worker 0 in the last execution */
	/* calibration */
	/* of each worker in each sample; 0 where work() decides */
	uint64_t units;
	double duration; /* s of a typical sample */
	/* s: the least seen between the first and the last start */
	double skew;
	unsigned per_batch;
	/* what was measured */
	size_t samples, room;
	double *time; /* s per unit */
	double *skews;
	unsigned char *noisy;
	/* of each metric that collect() reports, by sample; NULL for the others */
	double **value;
	unsigned batches, batch_room, allocations;
	struct batch *batch;
	struct noise noise;
	struct tally tally; /* of events */
	/* of this allocation, before its samples; pages 0: it maps nothing */
	struct placement now;
	struct placement before, after;	    /* of the allocation with the most pages astray */
	bool placed;			    /* before and after are known */
	char *failure, *impossible, *wrong; /* what went wrong; NULL */
	double elapsed;			    /* s of its own */
	double overhead;		    /* s that the clock takes to be read */
	enum stopped stopped;
	/* LIKWID's region around each batch */
	struct markers *markers; /* NULL: it has none */
	unsigned region;
	double marked; /* s of samples taken in it */
};

/* `counting`: what is counted beside its samples; NULL: nothing. */
int series_open(struct series *, struct planned *, struct counting *);
void series_close(struct series *);

/*
 * A fresh allocation: prepares, enters, reads the pages back. False when it could not be had:
 * failure or impossible says why. The team stays seated for this trial.
 */
bool series_allocate(struct series *, struct team *);
/*
 * Finds how many units make a sample as long as planned, and how many samples a batch of `batch` s.
 * Begins no sample when `most` s have gone by.
 */
void series_calibrate(struct series *, struct team *, double batch, double most);
/* Takes a batch of samples; `warm`: after one that does not count. False when it could not. */
bool series_batch(struct series *, struct team *, unsigned samples, bool warm);
/* Reads the pages back, verifies, and gives the allocation back. */
void series_release(struct series *, struct team *);
/* At the end of all: noise, counts and placement become those of all ranks. */
void series_gather(struct series *);

/*
 * Of one allocation, or of all (allocation < 0): the time; or of another statistic, given by batch.
 */
struct estimate series_estimate(const struct series *, int allocation, const double *of);

unsigned metric_count(const struct benchmark *);
bool is_time(const struct metric *); /* its value is the time, which the harness takes */
/* {"0": .., "0.01": .., .., "1": ..}; sorts the values. */
json_t *quantiles_json(double *values, size_t n);
/*
 * Units of a worker in the last sample; null where a deadline ends it, and each does as many as it
 * can.
 */
json_t *series_units_json(const struct series *);
/* The newest batch, for the record. */
json_t *series_batch_json(const struct series *, double at);

#endif
