/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of a trial, in batches, and their results: a time or another number by sample, its
 * median by batch, then by allocation, and from these an estimate with an interval.
 */
#ifndef LOCUS_SAMPLES_H
#define LOCUS_SAMPLES_H

#include "benchmark.h"
#include "base/statistics.h"
#include "harness/sample/neighbours.h"

/*
 * Outside causes of which a sample has evidence, as bits. Disturbed: its thread was preempted, lost
 * its CPU or was moved. Crowded: another hardware thread worked on its core.
 */
enum { SAMPLE_DISTURBED = 1, SAMPLE_CROWDED = 2 };

/* One timed execution of a trial's work. */
struct sample {
	double wall, time, skew; /* wall and skew: s; time: s per unit */
	double communicated;	 /* s; NAN: there are no ranks */
	/*
	 * units of this rank's workers of the first role together; in pairs, of the first worker
	 * of each
	 */
	double done;
	unsigned noisy; /* SAMPLE_... */
};

struct batch {
	size_t first, samples; /* in the arrays of struct samples */
	unsigned allocation;
	unsigned round; /* the group's sweep that it belongs to, in which each trial has a batch */
	/*
	 * The median of its samples; without the disturbed ones; without the crowded ones, too. NAN
	 * if none remains.
	 */
	double estimate, clean, quiet;
	/* s per core cycle, the same before and after its samples, on all workers; 0: unknown */
	double cycle;
	struct neighbours_look look; /* right after its samples */
	bool rested;		     /* the neighbours used no CPU time during its samples */
	double at;		     /* s from the start of the run to the start of the batch */
	uint64_t units;		     /* units of a worker in each sample */
};

struct samples {
	size_t n, room;
	double *time;	      /* s per unit */
	double *skews;	      /* s from the first start to the last */
	unsigned char *noisy; /* SAMPLE_... */
	/* by metric that collect() reports, by sample; NULL for the others */
	double **value;
	struct batch *batch;
	unsigned batches, batch_room;
	unsigned complete, recorded; /* batches that are complete; that are in the record */
	unsigned allocations;
	/* allocations before memory of this trial was first freed, so that no frame came again */
	unsigned fresh;
	double typical; /* typical scatter of trials of its kind (estimate_typical); 0: unknown */
};

/*
 * Which of a benchmark's metrics the harness measures; which collect() reports after each sample.
 */
bool metric_is_time(const struct metric *);
bool metric_is_reported(const struct metric *);

/* False: no memory. */
bool samples_open(struct samples *, const struct benchmark *);
/* Makes room for one more batch, of n samples; false: no memory. */
bool samples_room(struct samples *, const struct benchmark *, size_t n);
void samples_close(struct samples *, const struct benchmark *);

/*
 * Leaves out the samples of a batch that was cut off or failed: they are not in the record, and a
 * trial should say no more than its record holds.
 */
void samples_leave_out_cut(struct samples *);

/*
 * Samples with evidence of an outside cause are set aside for the result, whatever their values:
 * disturbed ones if each allocation keeps at least this share of its samples; crowded ones, too, if
 * each allocation does, or half of them, LEAST_VALUES or more. Another guest may crowd a core for
 * longer than an allocation, which then does not count.
 */
#define SAMPLES_LEAST_CLEAN 0.25
/* Whether an allocation has at least this share, and one, of samples without these causes. */
bool samples_has_without(const struct samples *, unsigned allocation, unsigned causes);
unsigned samples_aside(const struct samples *); /* the causes for which samples are set aside */

/* Estimates a statistic from its values by batch. */
struct estimate samples_estimate(const struct samples *, const double *of);

/*
 * A number without the samples that are set aside (samples_aside), and a number with them; NAN: no
 * number.
 */
struct estimates {
	struct estimate kept;
	double all;
};

/*
 * The median of a batch's samples without these causes: 0, SAMPLE_DISTURBED or both. `value`: by
 * sample, NULL: the time.
 */
double estimates_batch(const struct samples *, unsigned batch, const double *value,
		       unsigned causes);
/* Estimates from the batches' medians of a value (by sample); NULL: of the time. */
struct estimates estimates_values(const struct samples *, const double *value);
struct estimates estimates_time(const struct samples *);
/* The time in each allocation, in their order; returns how many have one. Room for all batches. */
size_t estimates_allocations(const struct samples *, double *medians);
/* How much the time scatters among allocations (estimate_scatter); NAN: unknown. */
double estimates_scatter(const struct samples *);
/*
 * Whether the time's interval reaches at most the share `within` of the time; false if there is no
 * interval.
 */
bool estimates_converged(const struct samples *, double within);

#endif
