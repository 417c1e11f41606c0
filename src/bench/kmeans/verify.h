/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a solution independently of the solvers, by differences of long doubles. */
#ifndef LOCUS_KMEANS_VERIFY_H
#define LOCUS_KMEANS_VERIFY_H

#include "bench/kmeans/problem.h"

/*
 * Run on the team; only worker 0 may call these functions. u is the unit roundoff of the points'
 * type. Checked are:
 *
 *	labels   no centre of `from` is nearer than the label's by more than (d + 4) u of the sum
 *	         of both squared distances. That is what either loses where it is computed by
 *	         differences: a point's own distances bound it, and no other point does. Of all
 *	         points, or, where n k d exceeds 2^25, of evenly spaced ones.
 *	counts   are exactly those of the labels
 *	centres  are the means of their points; tolerance in each dimension: 4 u max|x| (the mean is
 *	         rounded to the points' type) + count 2^-52 max|x| (sums of double in any order) of
 *	         the cluster's points + (u + all 2^-60) of the width of all points, without those
 *	         that lie far out (spread.h; sums of 64-bit integers). A centre without points stays
 *	         where it was.
 *	end      without a number of iterations: centres equal `from`, within twice that tolerance
 *
 * NULL when right, else what is wrong, valid until the thread's next call.
 */
const char *solution_verify(const struct problem *, const struct solution *);

size_t solution_verify_bytes(const struct problem *); /* memory that solution_verify() needs */

/* Sum of squared distances of all points to their centres; NAN without memory. */
double solution_inertia(const struct problem *, const struct solution *);

#endif
