/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A histogram of any positive numbers in constant memory: 64 buckets of equal width between each
 * power of two and the next. So a bucket's width is at most 1/64 of its values, and its middle is
 * off by at most 1/128. After HdrHistogram (Tene 2012). One thread writes one; the histograms of
 * all workers are merged.
 */
#ifndef LOCUS_HISTOGRAM_H
#define LOCUS_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/apart.h"

/*
 * Values from 2^-64 up to 2^64. Smaller ones and zero are in the first bucket, whose value is 0;
 * larger ones and NAN in the last one.
 */
enum {
	HISTOGRAM_STEPS = 64, /* buckets of an octave */
	HISTOGRAM_OCTAVES = 128,
	HISTOGRAM_BUCKETS = HISTOGRAM_STEPS * HISTOGRAM_OCTAVES,
	HISTOGRAM_FIRST = -64, /* the first octave begins at 2 to this power */
};

struct histogram {
	/*
	 * a bit for each octave that may hold something: other octaves are neither read nor cleared
	 */
	_Alignas(APART) uint64_t octaves[HISTOGRAM_OCTAVES / 64];
	uint64_t count[HISTOGRAM_BUCKETS];
};

/*
 * The upper bits of a double are its octave, then its step within the octave. Negative numbers go
 * to the last bucket.
 */
static inline unsigned histogram_bucket(double value)
{
	enum { MANTISSA = 52, STEP_BITS = 6, BIAS = 1023 };
	const uint64_t first = (uint64_t)(BIAS + HISTOGRAM_FIRST) << STEP_BITS;
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	bits >>= MANTISSA - STEP_BITS;
	bits = bits > first ? bits - first : 0;
	return bits < HISTOGRAM_BUCKETS ? (unsigned)bits : HISTOGRAM_BUCKETS - 1;
}

/* May be used in the timed part: it takes some ns. */
static inline void histogram_add(struct histogram *h, double value)
{
	const unsigned bucket = histogram_bucket(value), octave = bucket / HISTOGRAM_STEPS;

	h->octaves[octave / 64] |= UINT64_C(1) << octave % 64;
	h->count[bucket]++;
}

/* Empties it. A new histogram must be all zero: octaves that are not marked are not cleared. */
void histogram_clear(struct histogram *);

/*
 * Adds the values of `from`, each times `scale`: the worth of 1 in `from` in units of `into`, such
 * as s per tick. If the scale is not a power of two, a value is off by 1/64 at most, instead of
 * 1/128.
 */
void histogram_merge(struct histogram *into, const struct histogram *from, double scale);

uint64_t histogram_total(const struct histogram *); /* values in all */

/* The middle of a bucket. */
double histogram_value(unsigned bucket);

/*
 * The smallest value that a share (0 to 1) of all values does not exceed: 0.5 is the median, 1 the
 * maximum. NAN if there are none.
 */
double histogram_quantile(const struct histogram *, double share);

#endif
