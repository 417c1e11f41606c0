/* SPDX-License-Identifier: Apache-2.0 */
/* What a handle has spent since it joined; times are in clock_ticks(). */
#ifndef LOCUS_HASHMAP_BEST_COSTS_H
#define LOCUS_HASHMAP_BEST_COSTS_H

#include <stdint.h>

struct best_costs {
	uint64_t waited;  /* for buckets that others had locked */
	uint64_t moving;  /* to make tables and to move buckets to them, waits for locks included */
	uint64_t growths; /* moves to a larger table that it completed */
};

#endif
