/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers: uniform, permuted, Zipf-distributed. */
#ifndef LOCUS_RANDOM_H
#define LOCUS_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* Finalizer of MurmurHash3: each bit of the result depends on all of the argument; 0 stays 0. */
static inline uint64_t random_mix(uint64_t z)
{
	z = (z ^ (z >> 33)) * UINT64_C(0xff51afd7ed558ccd);
	z = (z ^ (z >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
	return z ^ (z >> 33);
}

/* 2^64 / golden ratio: the increment of SplitMix64 (Steele, Lea and Flood 2014). */
#define RANDOM_GOLDEN UINT64_C(0x9e3779b97f4a7c15)

/*
 * Word i of a random stream, a function of i alone: threads can draw theirs at once. A word can be
 * the seed of another stream.
 */
static inline uint64_t random_word(uint64_t stream, uint64_t i)
{
	return random_mix(stream + (i + 1) * RANDOM_GOLDEN);
}

/* A number in [0,1): the upper 53 bits of a word. */
static inline double random_unit(uint64_t word)
{
	return (double)(word >> 11) * 0x1p-53;
}

/*
 * A pseudo-random permutation of 0..n-1: a Feistel network (Luby and Rackoff 1988) on the next
 * power of two, applied again until the result is below n (Black and Rogaway 2002), on average less
 * than twice. The halves may differ by a bit.
 */
static inline size_t random_permute(size_t x, size_t n, uint64_t seed)
{
	const unsigned bits = n > 1 ? 64 - (unsigned)__builtin_clzll(n - 1) : 0, low = bits / 2;
	const uint64_t low_mask = (UINT64_C(1) << low) - 1,
		       high_mask = (UINT64_C(1) << (bits - low)) - 1;

	if (bits < 2)
		return n == 2 ? x ^ (seed & 1) : x;
	do {
		uint64_t left = x >> low, right = x & low_mask;

		for (unsigned round = 0; round < 4; round += 2) {
			left ^= random_mix(right ^ seed ^ (uint64_t)round << 56) & high_mask;
			right ^= random_mix(left ^ seed ^ (uint64_t)(round + 1) << 56) & low_mask;
		}
		x = left << low | right;
	} while (x >= n);
	return x;
}

/*
 * Zipf-distributed numbers: 1..n with probabilities proportional to 1 / r^exponent, by
 * rejection-inversion (Hoermann and Derflinger 1996), which needs no table.
 */
struct zipf {
	double exponent, n;
	/* integrals of the hat function; up to `sure` above a number nothing is rejected */
	double begin, end, sure;
};
struct zipf zipf_of(uint64_t n, double exponent);
/* Draws a number by a random number of 64 bits, which also seeds further tries. */
uint64_t zipf_draw(const struct zipf *, uint64_t random);

#endif
