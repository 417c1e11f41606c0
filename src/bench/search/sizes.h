/* SPDX-License-Identifier: Apache-2.0 */
/* Counts and sizes that follow from a trial's parameters. */
#ifndef LOCUS_SEARCH_SIZES_H
#define LOCUS_SEARCH_SIZES_H

#include "bench/search/parameters.h"

unsigned dispatchers_of(const struct trial *); /* workers before the searchers */
unsigned searchers_of(const struct trial *);
unsigned streams_of(const struct trial *); /* of keys, of this process */
bool has_tree(const struct trial *);

unsigned width_of(const struct trial *);  /* bytes of a key */
size_t elements_of(const struct trial *); /* of the array, on all ranks */
/* elements that a rank holds; rank 0 has the most */
size_t held_of(const struct trial *, unsigned rank);
/*
 * elements for which memory is mapped: the same on all ranks, so that either all or none have room
 */
size_t padded_of(const struct trial *);
size_t stream_keys(const struct trial *);
uint32_t block_packets(const struct trial *); /* partitioned: packets of a worker in a sample */
unsigned copies_of(const struct trial *);     /* of the tree, at most */
double keys_a_unit(const struct trial *);     /* in a packet of each stream of all ranks */

/* Bytes. Strides between the memory of threads are whole pages. */
size_t packet_room(const struct trial *); /* a packet's keys */
size_t own_stride(const struct trial *);  /* a searcher's ring, copy of a packet and answers */
size_t stream_stride(const struct trial *);
size_t block_stride(const struct trial *); /* 0: not partitioned */
size_t tree_room(const struct trial *);	   /* a copy of the tree; 0: no tree */
size_t remote_room(const struct trial *);  /* 0: not distributed */

/* See struct benchmark. */
struct needs search_needs(const struct trial *);

#endif
