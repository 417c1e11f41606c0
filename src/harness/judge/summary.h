/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trial's lines in the record: its samples; then its result, with the status, the reasons, and
 * the numbers with their intervals. Tables print the same object.
 */
#ifndef LOCUS_SUMMARY_H
#define LOCUS_SUMMARY_H

#include <jansson.h>

#include "harness/sample/series.h"
#include "harness/judge/verdict.h"

/*
 * The trial line of doc/schema/README.md, without what record_line() adds; its status goes to
 * *status. `group`: the trials sampled in turn, this one included; `at`: s from the start of the
 * run to the start of the group.
 */
json_t *summary(const struct series *, const struct series *group, unsigned n, double at,
		enum status *);

/* --- samples_line.c: samples, batch by batch --- */

/*
 * The line of n batches, from `first` on: every sample; only their quantiles if workers meet in
 * pairs, or after the 10,000th sample of the trial.
 */
json_t *samples_line(const struct series *, unsigned first, unsigned n);
/* Whether a line that begins with batch `first` may also hold this batch, the next in order. */
bool samples_join(const struct series *, unsigned first, unsigned batch);
/* Quantiles 0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99 and 1; sorts the values. */
json_t *samples_quantiles(double *values, size_t n);
/*
 * Units of a worker in the last sample; null if a deadline ends it, since then each worker does as
 * many as it can.
 */
json_t *samples_units(const struct series *);
/* `batches` of the trial line: the numbers of each batch, from which statistics can be computed. */
json_t *batches_json(const struct samples *, const struct benchmark *);

/* --- summary_samples.c: all samples together --- */

/* `samples` of the trial line; notes that they have two modes, or changed. */
json_t *samples_json(const struct series *, struct verdict *);
/* Notes why the samples' times are doubtful. */
void samples_note_doubts(const struct series *, struct verdict *);
/* Median s between the first start and the last; NAN: unknown. */
double samples_skew(const struct series *);
/*
 * s per core cycle: `time` (the trial's) divided by it is the trial's value in cycles. It comes
 * from the same samples as `time`, each batch with its own cycle. NAN if fewer than half of the
 * batches with a time know their cycle, and if threads outnumber CPUs: then a unit's time is mostly
 * waiting for one.
 */
double samples_cycle(const struct series *, double time);

/* --- ratios.c: the trials of a group, compared --- */

/* The name of the difference between the two trials: a parameter, "variant" or "threads". */
const char *ratios_parameter(const struct ratio *, const struct benchmark *);
/*
 * `ratios` of the trial line: the series compared with others of its group. If two trials found
 * different answers there is no ratio, and a note says so.
 */
json_t *ratios_json(const struct series *, const struct series *group, unsigned n,
		    struct verdict *);

/* --- summary_pairs.c: pairs of workers by level of the machine, by CPU, and pair by pair --- */

/*
 * `pairs` of the trial line (doc/schema/README.md); null if nothing was measured, or without pairs
 * (NULL). Notes levels whose pairs disturb each other. Sorts the meetings.
 */
json_t *summary_pairs(struct pairs *, const struct trial *, struct verdict *);

/* --- summary_evidence.c: noise, placement of pages, and counters --- */

/*
 * A trial is noisy if noise may have moved its result: if noisy samples cannot be set aside because
 * an allocation would have too few others, or if the host stole more than NOISE_MOST_STOLEN of its
 * time, which no sample shows. If more than NOISE_MOST_SAMPLES of the samples are noisy, a note
 * says so.
 */
#define NOISE_MOST_STOLEN  0.1
#define NOISE_MOST_SAMPLES 0.1

size_t noise_samples(const struct samples *); /* noisy ones */
json_t *noise_json(const struct series *);    /* `noise` of the trial line */
/* `crowded` of `samples`; NULL: no core was watched. */
json_t *noise_crowded_json(const struct series *);
/* The reason if its cores were crowded in more than that share of samples; NULL: they were not. */
char *noise_crowded(const struct noise *);
/* Judges a series that has samples and a time. */
void noise_judge(const struct series *, struct estimates time, struct verdict *);

/*
 * `placement` of the trial line: the places of pages before its samples; `after`: the places after
 * them, if they differ.
 */
json_t *placement_json(const struct placements *);
/*
 * Judges misplaced pages; notes pages that were not read back one by one, and threads on nodes
 * where first touch leaves none.
 */
void placement_judge(const struct series *, struct verdict *);
/* Notes that huge pages were requested and not obtained. */
void placement_note_huge(const struct series *, struct verdict *);

/* Notes counts that are doubtful or come from few batches, and counting that changed the time. */
void counters_note(const struct series *, const json_t *counters, const json_t *counting,
		   struct verdict *);
/* `region` of the trial line: LIKWID's around its batches, on this rank. */
json_t *region_json(const struct series *);
/* Notes CPUs of the trial where LIKWID counted nothing, or did not run. */
void region_note(const struct series *, struct verdict *);

#endif
