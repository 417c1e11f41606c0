/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is said of a trial: its status with the reasons, its numbers with their intervals. Tables
 * print this object, records hold it.
 */
#ifndef LOCUS_SUMMARY_H
#define LOCUS_SUMMARY_H

#include "harness/measure.h"

/*
 * From the best to the gravest: a trial has the gravest that holds. A wide interval tells itself
 * how little it knows, noise does not.
 */
enum status { OK, UNCONVERGED, NOISY, INTERRUPTED, MISPLACED, WRONG, FAILED, IMPOSSIBLE, STATUSES };
extern const char *const status_names[STATUSES];

/* Half an interval's width over its estimate: within this, a trial has converged. */
#define CONVERGED_WITHIN 0.01
/*
 * A trial is noisy when more than this share of its samples is, or of its time was lost, or when
 * they move its result by more than CONVERGED_WITHIN.
 */
#define NOISY_SHARE 0.1
#define LOST_SHARE  0.02
/*
 * A trial is misplaced when more than this share of its pages is astray: a page or two may be the
 * kernel's own choice under pressure.
 */
#define MISPLACED_SHARE 0.001

/*
 * The trial line of doc/schema/README.md, less what record_line() adds; the status in *status.
 * `group`: the trials sampled in turn, itself among them.
 */
json_t *summary(const struct series *, const struct series *group, unsigned n, const char *started,
		enum status *);

#endif
