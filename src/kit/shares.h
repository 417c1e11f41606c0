/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Even shares of n items for workers or ranks; if n does not divide evenly, the first shares have
 * one more.
 */
#ifndef LOCUS_SHARES_H
#define LOCUS_SHARES_H

#include <stddef.h>

/* Share i is from share_begin(n, i, shares) to share_begin(n, i + 1, shares). */
static inline size_t share_begin(size_t n, unsigned i, unsigned shares)
{
	return n / shares * i + (i < n % shares ? i : n % shares);
}

static inline size_t share_size(size_t n, unsigned i, unsigned shares)
{
	return n / shares + (i < n % shares);
}

#endif
