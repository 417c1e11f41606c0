/* SPDX-License-Identifier: Apache-2.0 */
/* What collect() reports after a sample, by the kind of each metric. */
#ifndef LOCUS_REPORTS_H
#define LOCUS_REPORTS_H

#include <jansson.h>

#include "harness/sample/score.h"

/* What metrics have beside a value by sample; the values are in the series. */
struct reports {
	struct by_worker **by_worker;	    /* by metric; NULL if it is of another kind */
	struct distribution **distribution; /* the same */
};

/* NULL: no memory. */
struct reports *reports_open(const struct trial *);
void reports_close(struct reports *, const struct benchmark *);

/* Calls collect() for the sample that was taken last, on all ranks. */
void reports_collect(struct series *, const struct sample *);

/* Adds to a metric's object what its kind has beyond a value, as "by_worker" or "distribution". */
void reports_detail(const struct series *, unsigned metric, json_t *object);

#endif
