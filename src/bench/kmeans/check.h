/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a solution is one: found apart from how it was made, in double and in integers. */
#ifndef LOCUS_CHECK_H
#define LOCUS_CHECK_H

#include "bench/kmeans/problem.h"

/*
 * By the team, on points that are there; only worker 0 may call these. With u the unit roundoff of
 * the points' type and S the squared diagonal of the box around all points and centres:
 *
 *	labels   of all points, or, where n k d is above 2^25, of evenly spaced ones so many that it
 *               is not: no centre of `from` is nearer than
 *	         the label's by more than 8 (d + 5) u S + 4 e sqrt(S) + 2 e^2 in the square of its
 *	         distance, e = 2^-52 |x| of the farthest corner of the
 *	         points' box. That is what the rounding of either way to compute a distance, by
 *	         differences or by |c|^2 / 2 - x c, may hide, and
 *	         that of `from` to a double, where points are far from zero.
 *	counts   are those of the labels, exactly
 *	centres  are the means of their points, in each dimension to 4 u max|x| (the mean is rounded
 *               to the points' type), and to what sums may
 *	         lose: count 2^-52 max|x| (any order of additions in double), all 2^-60 of the box's
 *	         width (integers of 64 bits; all of it, where it
 *	         is too thin for a double to scale it up). One without points is where it was.
 *	end      where it ended by itself, means and centres are the same, within twice that
 *
 * NULL when right, else what is wrong; valid until the next call.
 */
const char *solution_check(const struct problem *, const struct solution *);

size_t solution_check_bytes(const struct problem *); /* that it takes, beside the solution */

/* The sum of squared distances of all points to the centres that they are labelled with. */
double solution_inertia(const struct problem *, const struct solution *);

#endif
