/* SPDX-License-Identifier: Apache-2.0 */
/* The measured loops, each a separate function, so that a test can read its machine code. */
#ifndef LOCUS_ATOMICS_KERNELS_H
#define LOCUS_ATOMICS_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

enum operation {
	OPERATION_LOAD,
	OPERATION_STORE,
	OPERATION_ADD,
	OPERATION_EXCHANGE,
	OPERATION_COMPARE_EXCHANGE,
	OPERATIONS
};
enum { SIZES = 5 }; /* words of 1 << 0 to 1 << 4 bytes */

/* One thread's operation on its word, and its observations. */
struct job {
	void *word;
	/* what the thread stored last, or expects: counts up, modulo the word's size */
	uint64_t value;
	uint64_t got, put; /* sums of what it loaded, or took out; and of what it put in */
	uint64_t hits;	   /* compare-exchanges that exchanged */
};

/*
 * Does the operation n times. A word of 16 bytes holds a number and its complement. A load gives
 * the address of the next, so that each waits for the one before.
 */
typedef void kernel(void *job, uint64_t n);
/* The loops by operation and log2 of the word's bytes; NULL: not on this architecture. */
extern kernel *const atomics_kernels[OPERATIONS][SIZES];

/* Why this CPU does not do this in one access; NULL: it does. */
const char *atomics_lack(enum operation, unsigned bytes);

/*
 * Atomic instructions on a word that lies on two lines. On x86 such an access locks the bus (a
 * split lock), and Linux can detect it. Other architectures raise a fault.
 *
 * Why a word can't be misaligned, or (across) lie on two lines; NULL: it can. `root` as in
 * base/sysfs.h. What a host detects, its guests can't see.
 */
const char *splits_refused(const char *root, bool across);

#endif
