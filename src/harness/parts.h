/* SPDX-License-Identifier: Apache-2.0 */
/* Even shares of n things - elements, points, ticks - that so many workers or ranks have: the first ones have one more where it does not come out even. */
#ifndef LOCUS_PARTS_H
#define LOCUS_PARTS_H

#include <stddef.h>

/* Part i is from part_begin(n, i, parts) to part_begin(n, i + 1, parts). */
static inline size_t part_begin(size_t n, unsigned i, unsigned parts)
{
	return n / parts * i + (i < n % parts ? i : n % parts);
}

static inline size_t part_size(size_t n, unsigned i, unsigned parts)
{
	return n / parts + (i < n % parts);
}

#endif
