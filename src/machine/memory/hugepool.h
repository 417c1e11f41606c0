/* SPDX-License-Identifier: Apache-2.0 */
/* Huge pages that the kernel has reserved (hugetlb), by size; `root` as in base/sysfs.h. */
#ifndef LOCUS_HUGEPOOL_H
#define LOCUS_HUGEPOOL_H

#include <stddef.h>
#include <stdint.h>

#include "machine/limits/limit.h"

#define MOST_HUGE_SIZES 8
/* The sizes there are (bytes, ascending); returns how many, 0 where there are none. */
unsigned huge_page_sizes(const char *root, size_t sizes[MOST_HUGE_SIZES]);

struct huge_pages {
	uint64_t total, free;
	uint64_t reserved; /* promised to mappings, of the whole machine: nobody keeps it by node */
	/*
	 * can still be had: not promised, with what the kernel makes when asked, as far as the
	 * cgroup allows
	 */
	uint64_t available;
};
/* Of a node, or ALL_NODES. -1 with errno: ENOENT there is no such size or node. */
int huge_pages_read(const char *root, size_t size, int node, struct huge_pages *);

/* What cgroups still allow. Nothing is refused before it, and touching more ends in a SIGBUS. */
void huge_limit_read(const char *root, size_t size, struct memory_limit *);

#endif
