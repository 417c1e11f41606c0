/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reduces the workers' reports in a sample to one value; other reports are kept by worker, as a
 * distribution, or by role. All ranks make the calls that end a sample.
 */
#ifndef LOCUS_REDUCTIONS_H
#define LOCUS_REDUCTIONS_H

#include <jansson.h>

#include "harness/sample/samples.h"
#include "kit/histogram.h"

/* --- by worker: its value in a sample, and one for each worker over the samples --- */

struct by_worker {
	enum metric_kind kind;
	unsigned workers;
	struct by_worker_values {
		double now; /* NAN: nothing was noted in this sample */
		double sum, most;
		double *value; /* M_MEDIAN: by sample; else NULL */
		size_t samples, room;
	} of[];
};

struct by_worker *by_worker_open(unsigned workers, enum metric_kind); /* NULL: no memory */
void by_worker_close(struct by_worker *);
/* Notes a worker's value in this sample; workers without one are left out. */
void by_worker_note(struct by_worker *, unsigned worker, double value);
/*
 * Ends the sample: reduces the values as the metric's kind says, with the same result on all ranks;
 * M_MEDIAN covers this rank's workers only. NAN if there are none.
 */
double by_worker_end(struct by_worker *, const struct ranks *);
/*
 * A list of this rank's workers: each one's median (M_MEDIAN), most (M_MOST) or mean over the
 * samples; null for a worker without a value. NULL: no worker had one.
 */
json_t *by_worker_json(const struct by_worker *);

/* --- a distribution: workers' histograms, merged over workers and ranks, then over samples --- */

struct distribution {
	struct histogram sample, all;
};

struct distribution *distribution_open(void); /* NULL: no memory */
void distribution_close(struct distribution *);
/*
 * Adds a worker's histogram of this sample; `unit`: the histogram's value 1 in the metric's unit.
 */
void distribution_add(struct distribution *, const struct histogram *, double unit);
/* Ends the sample: the median of the values of all ranks; NAN if there are none. */
double distribution_end(struct distribution *, const struct ranks *);
/*
 * {"n", "quantiles": {"0.5": .., "0.9", "0.99", "0.999", "1"}, "buckets": [[bucket, n, n, ..],
 * ..]}, of all samples; buckets are numbered as in histogram_value(). NULL: there are no values.
 */
json_t *distribution_json(const struct distribution *);

/* --- throughput: units, and units a second, of each role where a trial has several --- */

struct throughput {
	unsigned roles; /* 0: there is one role only */
	/* by role and sample: over all workers of the role */
	double **units, **rate;
};

struct throughput *throughput_open(const struct trial *); /* NULL: no memory */
void throughput_close(struct throughput *);
bool throughput_room(struct throughput *, size_t samples); /* false: no memory */
/* Keeps the units and rates of sample number `at`, which was just taken, over all ranks. */
void throughput_keep(struct throughput *, const struct trial *, const struct sample *, size_t at);
/* `roles` of the trial line: an object for each role; [] if there is one role only. */
json_t *throughput_json(const struct throughput *, const struct trial *, const struct samples *);

/*
 * --- rows: what each rank measured with others. A rank keeps its own; rank 0 gets at most
 * ROWS_SENT cells of each, however many ranks it met ---
 */

enum rows_limit {
	ROWS_METRICS = 9, /* the most metrics with rows */
	ROWS_FIRST = 256, /* the ranks met first, a random choice ... */
	ROWS_WORST = 16,  /* ... and the worst of the others, by each metric */
	ROWS_SENT = ROWS_FIRST + ROWS_METRICS * ROWS_WORST,
	ROWS_KEPT = 16, /* samples with another rank, the last ones */
};

struct rows;

struct rows *rows_open(const struct trial *); /* NULL: no memory */
void rows_close(struct rows *);
/* Notes the metric's value with that rank in this sample. */
void rows_add(struct rows *, unsigned metric, unsigned with, double value);
/* Gives the row of each rank to rank 0. On all ranks, after the last sample. */
void rows_gather(struct rows *, const struct ranks *);
/*
 * On rank 0, once they are gathered: a list of {"rank", "host", "node", "with": [rank, ..], NAME:
 * [value, ..]}, the median of the samples for each rank met, null if a metric has none. `node`: the
 * lowest rank on the same node, according to MPI.
 */
json_t *rows_json(const struct rows *);

#endif
