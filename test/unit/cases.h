/* SPDX-License-Identifier: Apache-2.0 */
/* Random cases: how many, and numbers for them. */
#ifndef LOCUS_CASES_H
#define LOCUS_CASES_H

#include <stdint.h>
#include <stdlib.h>

/*
 * The number of random cases to try: all n in `make check`. The whole check sets CASES, in per
 * cent, lower where a case takes longer (sanitizers, no optimisation). An emulated processor tries
 * 10 %.
 */
static inline unsigned cases(unsigned n)
{
	const char *share = getenv("LOCUS_EMULATED") ? "10" : getenv("CASES");
	const unsigned percent = share ? (unsigned)strtoul(share, NULL, 10) : 100;

	return (unsigned)(((unsigned long long)n * percent + 99) / 100);
}

/* Uniform in [0,1), from a linear congruence. */
static inline double cases_uniform(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double)(*state >> 11) / 0x1p53;
}

#endif
