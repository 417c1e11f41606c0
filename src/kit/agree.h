/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decisions that all ranks take alike, though their clocks, signals, files and memory differ. All
 * ranks make these calls, in the same order. With NULL for the ranks - a single process - each call
 * returns its argument, at no cost.
 */
#ifndef LOCUS_AGREE_H
#define LOCUS_AGREE_H

#include "benchmark.h"

/* Whether this is rank 0, which alone prints and writes. */
bool rank_is_first(const struct ranks *);

/*
 * Replaces each number by its maximum, or sum, over all ranks. The watchdog may end a rank while it
 * waits for the others.
 */
void agree_largest(const struct ranks *, double *, size_t);
void agree_total(const struct ranks *, int64_t *, size_t);

double agree_most(const struct ranks *, double);
bool agree_any(const struct ranks *, bool);

/* Whether all ranks have the same number; compares the upper 53 bits. */
bool agree_same(const struct ranks *, uint64_t);

/*
 * Replaces each number by its sum over all ranks, the same to the last bit on all; NAN where any is
 * not finite. Sums must stay below 2^62.
 */
void agree_sum(const struct ranks *, double *, size_t);

/* Copies the bytes of rank `from` to all. */
void agree_copy(const struct ranks *, unsigned from, void *, size_t);

/*
 * `words`: why something failed, to be freed; NULL: it did not. All ranks get the words of the
 * first rank that has some, which name that rank unless it is rank 0.
 */
void agree_words(const struct ranks *, char **words);

/*
 * Whether all ranks can continue; if not, rank 0 says why. Takes over this rank's reason (NULL: it
 * can).
 */
bool agree_go_on(const struct ranks *, char *why_not);

/*
 * Between these two, all ranks do the same work and so print the same messages to stderr: only rank
 * 0's are shown. If only another rank fails (status != 0), rank 0 prints the first line of that
 * rank's messages. All ranks get the largest status.
 */
struct mute {
	/* descriptors: the real stderr, and the file that replaces it; -1: none */
	int was, kept;
};
void mute_begin(struct mute *, const struct ranks *);
void mute_end(struct mute *, const struct ranks *, int *status);

#endif
