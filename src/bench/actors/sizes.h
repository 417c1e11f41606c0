/* SPDX-License-Identifier: Apache-2.0 */
/* Counts and sizes that follow from a trial's parameters, and what the trial needs. */
#ifndef LOCUS_ACTORS_SIZES_H
#define LOCUS_ACTORS_SIZES_H

#include "benchmark.h"

/* Threads that run actors: all of the trial's, except the one that sends if there is a rate. */
unsigned actors_threads(const struct trial *);
uint64_t actors_active(const struct trial *);	/* actors that get messages */
uint64_t actors_messages(const struct trial *); /* messages under way at any time */
size_t actors_stride(const struct trial *);	/* bytes from one actor's state to the next */
size_t actors_words(const struct trial *);	/* of 4 bytes in a state */
uint64_t actors_touched(const struct trial *);	/* words that a message touches */
const char *actors_settle(const struct trial *, union value *, uint64_t given);
struct needs actors_needs(const struct trial *);

#endif
