/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the machine would allow if searching cost nothing: the limit of `throughput`, measured right
 * after a sample, by the threads that it had.
 */
#ifndef LOCUS_SEARCH_LIMIT_H
#define LOCUS_SEARCH_LIMIT_H

#include "bench/search/state.h"

/*
 * key/s that all threads together can fetch a line for: each loads, for the keys of its stream, the
 * line of the array that has about the answer. No load waits for another.
 */
double limit_of_memory(struct state *);

/*
 * key/s that MPI carries among all ranks: the keys and answers of the sample's last rounds are sent
 * again, by worker 0 of each rank, and nobody searches. NAN: there is no other rank.
 */
double limit_of_wire(struct state *);

#endif
