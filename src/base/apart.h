/* SPDX-License-Identifier: Apache-2.0 */
/* Distance between what belongs to different threads, so that no line is shared by accident. */
#ifndef LOCUS_APART_H
#define LOCUS_APART_H

#include <stddef.h>

/*
 * Bytes, for what is laid out when it is compiled: two lines of up to 128 bytes (POWER, some of
 * Arm's), so that no prefetcher pairs them; one of 256 (A64FX, IBM Z), of which none is known to do
 * so. Where the distance is what is measured, machine_apart() is asked.
 */
#define APART 256

/* Zeroed bytes, aligned to APART, alone on their lines; to be freed. NULL: no memory. */
void *apart_alloc(size_t bytes);

#endif
