/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ranks decide alike, though their clocks, signals, files and memory differ. All of them make
 * these calls, in the same order. With NULL for the ranks - one process has it all - each says what
 * it was given, and costs nothing.
 */
#ifndef LOCUS_AGREE_H
#define LOCUS_AGREE_H

#include "benchmark.h"

/* Rank 0 alone prints and writes. */
bool is_first(const struct ranks *);

/*
 * Each number becomes the largest, or the sum, of the ranks'. The watchdog may end a rank while it
 * waits for the others.
 */
void agree_largest(const struct ranks *, double *, size_t);
void agree_total(const struct ranks *, int64_t *, size_t);

double agree_most(const struct ranks *, double);
bool agree_any(const struct ranks *, bool);

/* all have the same number; of no more than 53 bits, the upper ones */
bool agree_same(const struct ranks *, uint64_t);

/*
 * Each number becomes its sum over the ranks: the same on all, and NAN where one of them is no
 * number. Of no more than 2^62.
 */
void agree_sum(const struct ranks *, double *, size_t);

/* A copy of what one rank has, for all. */
void agree_copy(const struct ranks *, unsigned from, void *, size_t);

/*
 * Words (to be freed; NULL: none) of why something cannot be. Those of the first rank that has some
 * become everybody's, and say whose they are where that is not rank 0.
 */
void agree_words(const struct ranks *, char **words);

/*
 * True where all ranks can go on; else rank 0 tells why. Takes over the words of why this one can't
 * (NULL: it can).
 */
bool agree_go_on(const struct ranks *, char *why_not);

/*
 * Between these two all ranks do the same, and find the same wrong with it: what goes to stderr is
 * said by rank 0 alone. A status (0: good) of another rank, with what it had to say, is told by
 * rank 0 where that had nothing to complain of; the status becomes everybody's.
 */
struct aside {
	/* files: what was descriptor 2, and what is in its place; -1: nothing is kept */
	int was, kept;
};
void aside_begin(struct aside *, const struct ranks *);
void aside_end(struct aside *, const struct ranks *, int *status);

#endif
