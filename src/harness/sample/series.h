/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One trial while it is measured: its current allocation, how much work a sample is, and all that
 * was measured. allocation.c, calibrate.c and batch.c fill it; summary.c and samples_line.c write
 * it into the record.
 */
#ifndef LOCUS_SERIES_H
#define LOCUS_SERIES_H

#include "benchmark.h"
#include "harness/sample/beside.h"
#include "harness/sample/noise.h"
#include "harness/sample/pairs.h"
#include "harness/sample/placements.h"
#include "harness/plan/plan.h"
#include "base/statistics.h"
#include "count/markers.h"
#include "count/tally.h"
#include "machine/memory/placement.h"
#include "machine/provenance/conditions.h"

/* What the main thread is doing to a trial while it is away from the books (watchdog.h). */
#define SERIES_PREPARING "preparing"
#define SERIES_MEASURING "measuring"
#define SERIES_VERIFYING "checking"

struct batch {
	size_t first, samples; /* in the series' arrays */
	unsigned allocation;
	unsigned round; /* the group's sweep that it belongs to: a batch of each trial */
	/* the median of its samples, and of those without noise; NAN if all are noisy */
	double estimate, clean;
	/* s per core cycle, the same before and after its samples, on all workers; 0: unknown */
	double cycle;
	struct beside_look look; /* right after its samples */
	bool rested;		 /* the neighbours had no CPU time during its samples */
	double at;		 /* s from the start of the run to that of the batch */
	uint64_t units;		 /* of a worker in each sample */
};

/* Why a trial ended where it did. */
enum stopped {
	STOPPED_NOT_RUN,
	STOPPED_CONVERGED,
	STOPPED_BUDGET,
	STOPPED_REPEATS,
	STOPPED_SIGNAL
};

struct held;

struct series {
	struct planned *planned;
	/* this allocation */
	void *state;
	bool begun;	     /* some time was spent on it */
	bool ready;	     /* prepared, entered, and not released yet */
	bool worked;	     /* work() has run: there is an answer to verify */
	bool cold;	     /* the caches don't hold its data yet: nothing has warmed them up */
	bool warming;	     /* the work is the needs.warm units that warm up */
	struct pairs *pairs; /* NULL: all work at once */
	unsigned meetings;   /* of a pair in a batch */
	uint64_t did;	     /* units of worker 0 in the last execution */
	/* calibration */
	/* of each worker in each sample; 0 where work() decides */
	uint64_t units;
	double duration; /* s of a typical sample */
	/* s: between the first and the last start, the median of those seen in calibration */
	double skew;
	unsigned per_batch; /* samples */
	/* what was measured */
	size_t samples, room;
	double *time; /* s per unit */
	double *skews;
	unsigned char *noisy;
	/* of each metric that collect() reports, by sample; NULL for the others */
	double **value;
	struct reports *reports;       /* what metrics have beyond a value */
	struct throughput *throughput; /* of each role */
	unsigned batches, batch_room, allocations;
	/* allocations before any memory of this trial was given back: no frame came again */
	unsigned fresh;
	bool returned;		 /* memory of an earlier allocation was given back */
	struct held *held;	 /* of its group; NULL: an allocation is given back when it ends */
	unsigned complete, told; /* batches that are complete; that are in the record */
	struct batch *batch;
	struct noise noise;
	struct beside beside;
	struct tally tally; /* of events */
	struct placements placements;
	char *failure, *impossible, *wrong;  /* what went wrong; NULL */
	const struct conditions *conditions; /* when the run began; NULL: unknown */
	char *moved;	 /* why pages were misplaced; NULL: unknown, or none was */
	double elapsed;	 /* s spent on this trial */
	double overhead; /* s that reading the clock takes */
	enum stopped stopped;
	double within;	/* how far its interval may reach, relative to the time */
	double typical; /* what trials of its kind scatter (estimate_typical); 0: unknown */
	/* s from the start of the run to that of the first batch, and to the end of the last */
	double from, to;
	/* LIKWID's region around each batch */
	struct markers *markers; /* NULL: it has none */
	unsigned region;
	double marked; /* s: the wall time of samples within the region */
};

/*
 * Leaves out the samples of a batch that was cut off or failed: they are not in the record, and a
 * trial says no more than its record holds.
 */
void series_leave_out_cut(struct series *);

/* After the last sample: sums noise, counts and placements over all ranks. */
void series_gather(struct series *);

/*
 * Noisy samples have evidence of an outside cause: their thread was preempted, lost its CPU or was
 * moved. They are set aside for the result, whatever their values are, if in each allocation at
 * least this share of the samples is left.
 */
#define SERIES_LEAST_CLEAN 0.25
bool series_has_clean(const struct series *, unsigned allocation); /* that share, and one */
bool series_sets_noise_aside(const struct series *);

/* The estimate of a statistic whose values by batch are in `of`. */
struct estimate series_estimate(const struct series *, const double *of);
/* Its median in each allocation, in their order; returns how many have one. */
size_t series_medians(const struct series *, const double *of, double *medians);

#endif
