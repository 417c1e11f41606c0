/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the kernel's description of a process's memory, mapping by mapping. The text is modified;
 * *rest is where the next call continues, NULL at the end.
 */
#ifndef LOCUS_MAPS_H
#define LOCUS_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The next line of /proc/self/numa_maps, and where its mapping begins; NULL at the end. */
char *numa_maps_next(char **rest, uintptr_t *begin);
/* Adds the pages of such a line to `found`, by node, in system pages; ignores nodes >= `nodes`. */
void numa_maps_add(char *line, size_t page, uint64_t *found, unsigned nodes);

/* A mapping of /proc/self/smaps, and its bytes on large pages. */
struct mapping {
	uintptr_t begin;
	uint64_t transparent, hugetlb;
};
bool smaps_next(char **rest, struct mapping *);

#endif
