/* SPDX-License-Identifier: Apache-2.0 */
/* Where the memory of tables comes from. */
#ifndef LOCUS_HASHMAP_BEST_MEMORY_H
#define LOCUS_HASHMAP_BEST_MEMORY_H

#include <stddef.h>

enum { BEST_HUGE_PAGE = 2 << 20 };

/* take() returns zeroed memory, aligned as a bucket is (best_bucket.h); NULL: there is none. */
struct best_memory {
	void *(*take)(void *from, size_t bytes);
	void (*give)(void *from, void *memory, size_t bytes);
	void *from;
};

/* mmap(). */
extern const struct best_memory best_memory_mapped;

#endif
