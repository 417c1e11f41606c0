/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from a trial's parameters. */
#ifndef LOCUS_HASHMAP_SIZES_H
#define LOCUS_HASHMAP_SIZES_H

#include "bench/hashmap/map.h"
#include "bench/hashmap/mix.h"
#include "trial.h"

/* How a variant is measured: struct variant's data. */
struct way {
	const struct map_kind *kind;
	bool words; /* it holds values of more than one word */
};

const struct map_kind *kind_of(const struct trial *);
struct mix mix_of(const struct trial *);
struct map_shape shape_of(const struct trial *);
enum pages pages_of(const struct trial *);
unsigned readers_of(const struct trial *); /* threads that only look up */
unsigned mixed_of(const struct trial *);   /* all others */

/* See struct benchmark. */
const char *hashmap_settle(const struct trial *, union value *, uint64_t given);
struct needs hashmap_needs(const struct trial *);

#endif
