/* SPDX-License-Identifier: Apache-2.0 */
/* The measured loops, each a separate function, so that a test can read its machine code. */
#ifndef LOCUS_READERS_H
#define LOCUS_READERS_H

#include <stdatomic.h>
#include <stdint.h>

struct words {
	_Atomic uint64_t *written, *read;
	uint64_t pauses; /* between two writes */
};

/* n loads; each waits for the previous one. */
void readers_read(void *words, uint64_t n);
/* n stores, which count up, each followed by the pauses. */
void readers_write(void *words, uint64_t n);

#endif
