/* SPDX-License-Identifier: Apache-2.0 */
/* Distance between data of different threads, to avoid false sharing. */
#ifndef LOCUS_APART_H
#define LOCUS_APART_H

#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"

/*
 * Bytes, for what is fixed at compile time: two lines of up to 128 bytes (POWER, some Arm), so that
 * adjacent-line prefetchers do not pair them; one line of 256 (A64FX, IBM Z), for which no such
 * prefetcher is known. Where the distance is measured, use machine_apart().
 */
#define APART 256

/* Zeroed, aligned to APART and padded to a multiple of it; to be freed. NULL: ENOMEM. */
static inline void *apart_alloc(size_t bytes)
{
	const size_t whole = round_up(bytes, APART);
	void *memory = aligned_alloc(APART, whole);

	return memory ? memset(memory, 0, whole) : NULL;
}

#endif
