/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Zipf-distributed numbers: 1..n with probabilities proportional to 1 / r^exponent, by
 * rejection-inversion (Hoermann and Derflinger 1996), which needs no table.
 */
#ifndef LOCUS_ZIPF_H
#define LOCUS_ZIPF_H

#include <stdint.h>

struct zipf {
	double exponent, n;
	/* integrals of the hat function; up to `sure` above a number nothing is rejected */
	double begin, end, sure;
};
struct zipf zipf_of(uint64_t n, double exponent);
/* From a random number of 64 bits, which also seeds further tries. */
uint64_t zipf_draw(const struct zipf *, uint64_t random);

#endif
