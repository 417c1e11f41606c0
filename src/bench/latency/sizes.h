/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from a trial's parameters: the chain, its size, and what the trial needs. */
#ifndef LOCUS_LATENCY_SIZES_H
#define LOCUS_LATENCY_SIZES_H

#include "bench/latency/chain.h"
#include "bench/latency/parameters.h"

/* bytes of the largest working set; see struct parameter */
uint64_t beyond_caches(const struct machine *, enum profile);
/* GB/s of a node, more than it has; see struct parameter */
uint64_t most_rate(const struct machine *, enum profile);
struct chain chain_of(const struct trial *);
/* bytes of each background thread's lines; depends on the memory available at the time */
size_t background_bytes(const struct trial *);
/* See struct benchmark. */
const char *latency_settle(const struct trial *, union value *, uint64_t given);
struct needs latency_needs(const struct trial *);

#endif
