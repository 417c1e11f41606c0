/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's pools of huge pages (hugetlb), by size; and who may have transparent ones. `root` as
 * in base/sysfs.h.
 */
#ifndef LOCUS_HUGE_H
#define LOCUS_HUGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/limits/limits.h"

#define MOST_HUGE_SIZES 8
/* The sizes that the kernel has, in bytes, ascending; returns how many. */
unsigned huge_page_sizes(const char *root, size_t sizes[MOST_HUGE_SIZES]);

/* Whether prctl(2), of a parent perhaps, forbids this process huge pages that it asks for. */
bool huge_thp_forbidden(const char *root);

struct huge_pages {
	uint64_t total, free;
	/* reserved for mappings, on the whole machine: the kernel does not count them by node */
	uint64_t reserved;
	/*
	 * for new mappings: free and not reserved, plus possible overcommit, within the cgroup's
	 * limit
	 */
	uint64_t available;
};
/*
 * Reads the pool of a node, or of the machine (ALL_NODES). -1 with errno; ENOENT: no such size or
 * node.
 */
int huge_pages_read(const char *root, size_t size, int node, struct huge_pages *);

/*
 * The huge pages that cgroups still allow. mmap() does not check it, and touching more ends in a
 * SIGBUS.
 */
void huge_limit_read(const char *root, size_t size, struct memory_limit *);

#endif
