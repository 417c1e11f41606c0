/* SPDX-License-Identifier: Apache-2.0 */
/* What a CPU showed in a sample: how long its quanta of fixed work took, and what was wrong. */
#ifndef LOCUS_CORES_H
#define LOCUS_CORES_H

#include <stddef.h>
#include <stdint.h>

/*
 * Of n > 0 quanta of the same work, in the unit of their times. A quantum that took more than
 * QUANTA_INTERRUPTED times the median was interrupted; the time beyond the median is lost.
 */
#define QUANTA_INTERRUPTED 1.1
struct quanta {
	double median, tail; /* tail: 99.9 % quantile */
	double lost;	     /* share of the time, from 0 to 1 */
	double gap;	     /* the longest quantum less the median */
};
/* Sorts the times. */
struct quanta quanta_of(double *times, size_t n);

#endif
