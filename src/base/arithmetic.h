/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on sizes, and the length of an array. */
#ifndef LOCUS_ARITHMETIC_H
#define LOCUS_ARITHMETIC_H

#include <stddef.h>
#include <stdint.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static inline uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* a - b, or 0 where b is the larger */
static inline uint64_t saturating_sub(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* The least multiple of `unit` >= n. The caller makes sure that it does not overflow. */
static inline size_t round_up(size_t n, size_t unit)
{
	return (n + unit - 1) / unit * unit;
}

#endif
