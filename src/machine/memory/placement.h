/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the nodes on which an arena's pages lie, according to the kernel, with its claims. */
#ifndef LOCUS_PLACEMENT_H
#define LOCUS_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct arena;

struct placement {
	/* checked page by page (move_pages); by counts (numa_maps); not checked */
	enum { PLACEMENT_VERIFIED, PLACEMENT_COUNTED, PLACEMENT_UNVERIFIED } how;
	/* why not PLACEMENT_VERIFIED, else NULL; owned by the placement */
	char *why_not;
	size_t page;		  /* bytes of the counts below: the system's page */
	unsigned nodes;		  /* length of on_node: the highest node number + 1 */
	uint64_t *on_node;	  /* pages on each node; owned by the placement */
	uint64_t pages, unmapped; /* all pages; those that are not present */
	/*
	 * Pages not on the claimed node, or not present. PLACEMENT_COUNTED: the sum over nodes of
	 * claimed pages that the node lacks, a lower bound. region_even(): pages of a node beyond
	 * its share (pages / nodes, rounded up) plus one granule.
	 */
	uint64_t misplaced;
	/*
	 * local: pages on the node of the worker that uses them; used: all pages with such a
	 * worker; PLACEMENT_VERIFIED only
	 */
	uint64_t local, used;
	uint64_t huge;	   /* bytes on pages larger than the system's (smaps) */
	uint64_t thp;	   /* bytes for which transparent huge pages were requested */
	size_t huge_page;  /* bytes of the largest page in `huge`; 0: none */
	bool huge_unknown; /* /proc/self/smaps can't be read: huge and huge_page are 0 */
};

/*
 * Places of all regions together. -1 with errno ENOMEM; if the kernel forbids it: 0, and
 * PLACEMENT_UNVERIFIED.
 */
int arena_placement(const struct arena *, struct placement *);
void placement_free(struct placement *);

/*
 * Parsers of the kernel's description of a process's memory, mapping by mapping. numa_maps: the
 * text is modified; *rest is where the next call continues, NULL at the end.
 */

/* The next line of /proc/self/numa_maps, and where its mapping begins; NULL at the end. */
char *numa_maps_next(char **rest, uintptr_t *begin);
/* Adds the pages of such a line to `found`, by node, in system pages; ignores nodes >= `nodes`. */
void numa_maps_add(char *line, size_t page, uint64_t *found, unsigned nodes);

/* Text as in /proc/self/smaps that is being read. Free `line` and close `file` at the end. */
struct smaps {
	FILE *file;
	char *line; /* the next one to be looked at; NULL at first */
	size_t room;
};
/* A mapping in it, and its bytes on large pages. */
struct mapping {
	uintptr_t begin;
	uint64_t transparent, hugetlb;
};
bool smaps_next(struct smaps *, struct mapping *);

#endif
