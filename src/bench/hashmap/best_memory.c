/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <sys/mman.h>

#include "bench/hashmap/best_memory.h"

/* Sizes from 2 MiB on are aligned to 2 MiB, and get huge pages if there are any. */
static void *map_take(void *from, size_t bytes)
{
	const size_t more = bytes < BEST_HUGE_PAGE ? 0 : BEST_HUGE_PAGE;
	char *at = mmap(NULL, bytes + more, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t before;

	(void)from;
	if (at == MAP_FAILED)
		return NULL;
	if (!more)
		return at;
	before = -(uintptr_t)at % BEST_HUGE_PAGE;
	if (before)
		munmap(at, before);
	if (more - before)
		munmap(at + before + bytes, more - before);
	madvise(at + before, bytes, MADV_HUGEPAGE);
	return at + before;
}

static void map_give(void *from, void *memory, size_t bytes)
{
	(void)from;
	munmap(memory, bytes);
}

const struct best_memory best_memory_mapped = { map_take, map_give, NULL };
