/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOCUS_CASES_H
#define LOCUS_CASES_H

#include <stdlib.h>

/* How many random cases are tried: of n all, or one in ten where the processor is emulated and each takes that much longer. */
static inline unsigned cases(unsigned n)
{
	return getenv("LOCUS_EMULATED") ? (n + 9) / 10 : n;
}

#endif
