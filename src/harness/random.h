/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOCUS_RANDOM_H
#define LOCUS_RANDOM_H

#include <stdint.h>

/* Finalizer of MurmurHash3: each bit of the result depends on all of the argument; 0 stays 0. */
static inline uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 33)) * UINT64_C(0xff51afd7ed558ccd);
	z = (z ^ (z >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
	return z ^ (z >> 33);
}

#endif
