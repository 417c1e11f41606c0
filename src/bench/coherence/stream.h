/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream from one thread to another, through a buffer of STREAM_PARTS parts: one thread writes a
 * part while the other reads those before it.
 */
#ifndef LOCUS_COHERENCE_STREAM_H
#define LOCUS_COHERENCE_STREAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/apart.h"

enum { STREAM_PARTS = 8, STREAM_STEP = 64 };

/* Writes a word to all of a part; all its bytes are equal. */
typedef void stream_fill(char *part, size_t bytes, uint64_t word);
stream_fill stream_fill_baseline, stream_fill_avx2, stream_fill_avx512;
stream_fill stream_fill_widest; /* the one of these with the widest stores that the CPU has */
stream_fill stream_fill_memset; /* the C library's, which may use other instructions */

/* All zero but for these two: nothing was sent. */
struct stream {
	stream_fill *fill;
	char *buffer; /* of STREAM_PARTS parts */
	size_t part;  /* bytes of one: a multiple of STREAM_STEP */
	bool wrong;   /* the reader has read what was not written for it */
	/* parts since the start of a sample */
	_Alignas(APART) _Atomic uint64_t written;
	_Alignas(APART) _Atomic uint64_t taken;
};

/* Before each sample. */
void stream_restart(struct stream *);
/* So many parts; the other thread calls the other function at the same time. */
void stream_write(struct stream *, uint64_t parts);
void stream_read(struct stream *, uint64_t parts);
/* Of all words of a part. */
uint64_t stream_sum(const char *part, size_t bytes);

#endif
