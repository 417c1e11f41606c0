/* SPDX-License-Identifier: Apache-2.0 */
/* A trial's metrics: which of them collect() reports after a sample, and their results. */
#ifndef LOCUS_REPORTS_H
#define LOCUS_REPORTS_H

#include <jansson.h>

#include "harness/sample/samples.h"

const char *metric_better(const struct metric *); /* "lower", "higher", or NULL */

struct rows;

/* Reports of metrics, besides their values by sample (struct samples). */
struct reports {
	struct by_worker **by_worker;	    /* by metric; NULL if it is of another kind */
	struct distribution **distribution; /* likewise */
	struct rows *rows;		    /* NULL: no metric is reported with other ranks */
};

/* NULL: no memory. */
struct reports *reports_open(const struct trial *);
void reports_close(struct reports *, const struct benchmark *);

/* Calls collect() for the last sample, on all ranks. */
void reports_collect(struct reports *, struct samples *, const struct trial *, void *state,
		     const struct sample *);

/* A metric of the trial; `time` is estimates_time() of its samples. */
struct estimates reports_metric(const struct samples *, const struct trial *, unsigned metric,
				struct estimates time);
/*
 * The range of the value where allocations are too few for an interval; null: there is an interval,
 * or not even a range.
 */
json_t *reports_range(struct estimate);
/* `metrics` of the trial line. `why`: the reason for metrics without a number. */
json_t *reports_json(const struct reports *, const struct samples *, const struct trial *,
		     struct estimates time, const char *why);

#endif
