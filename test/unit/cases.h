/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOCUS_CASES_H
#define LOCUS_CASES_H

#include <stdlib.h>

/*
 * How many of n random cases are tried: all; one in four with a sanitizer, and one in ten on an
 * emulated processor, since each case takes that much longer.
 */
static inline unsigned cases(unsigned n)
{
	const char *sanitizer = getenv("SANITIZER");
	const unsigned one_in = getenv("LOCUS_EMULATED") ? 10 : sanitizer && *sanitizer ? 4 : 1;

	return (n + one_in - 1) / one_in;
}

#endif
