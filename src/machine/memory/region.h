/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A part of a trial's memory: mapped with the requested page size, placed by policy, and claimed
 * page by page ("this page should lie on node 1", "a worker on node 0 uses it"). placement.h reads
 * back its nodes, and the harness compares them with the claim before and after the timed part.
 */
#ifndef LOCUS_REGION_H
#define LOCUS_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct machine;
struct region;

/* The kinds of pages that memory is mapped with. */
enum pages {
	PAGES_BASE, /* system pages; transparent huge pages declined */
	PAGES_THP,  /* transparent huge pages requested */
	PAGES_2M,   /* hugetlb */
	PAGES_1G,   /* hugetlb */
	/* transparent huge pages of a smaller size than PAGES_THP: touch with multisize_touch() */
	PAGES_MULTISIZE,
	PAGES_MULTISIZE_16K = PAGES_MULTISIZE,
	PAGES_MULTISIZE_64K,
	PAGES_MULTISIZE_256K,
};
/* The choices of a parameter, in the order of enum pages; the second part may be left out. */
#define PAGES_CHOICES		"base,thp,2M,1G"
#define PAGES_CHOICES_MULTISIZE ",thp-16K,thp-64K,thp-256K"

/* Whether the size is PAGES_2M or PAGES_1G; Arm's kernels have others, too. */
bool pages_are_hugetlb(size_t bytes);

/*
 * Maps zeroed, untouched memory, aligned to its granule and rounded up to it. NULL with errno, and
 * with arena_refusal() if reserved or multi-size huge pages are missing.
 */
struct region *region_map(struct arena *, const char *name, size_t bytes, enum pages);

void *region_base(const struct region *);
size_t region_bytes(const struct region *); /* as mapped: whole granules */
/*
 * Bytes that are placed together: the requested page size; for THP, the size of a transparent huge
 * page, even if the kernel uses smaller pages.
 */
size_t region_granule(const struct region *);

/*
 * Bytes of memory that a region may take: with THP rounded up to huge pages, which are 512 MiB if
 * the system's page is 64 KiB.
 */
size_t region_takes(const struct machine *, size_t bytes, enum pages);

/*
 * Frees the pages, so that all are untouched again; the policy stays. -1 with errno: EINVAL on
 * reserved huge pages before Linux 5.18.
 */
int region_discard(struct region *);

/*
 * Claims, in bytes, rounded inwards to whole granules, so that a page shared by two owners is
 * claimed for neither. The end of the requested bytes counts as the end of the last granule.
 */
#define ANY_NODE (-1)

/*
 * These pages should lie on this node or, if it has no memory, on the node where first touch by its
 * CPUs places pages.
 */
void region_home(struct region *, size_t offset, size_t bytes, int node);

/* Pages without a home should lie evenly on all nodes with memory. */
void region_even(struct region *);

/* A worker on this node uses these pages. */
void region_user(struct region *, size_t offset, size_t bytes, int node);

/*
 * Memory policies, for pages not touched yet. -1 with errno: EINVAL if there is no such node; with
 * arena_refusal(): ENOMEM if the node lacks reserved huge pages, EPERM and ENOSYS if the kernel
 * refuses policies.
 */
int region_bind(struct region *, int node);
/* Interleaves over all nodes with memory that the process may use. */
int region_interleave(struct region *);

/*
 * The usual case: maps, binds, claims and zeroes system pages on this node or, if it has no memory,
 * on the node where first touch by its CPUs places pages. NULL with errno as above, and ENOMEM if
 * there is no room (arena.h).
 */
void *region_on_node(struct arena *, const char *name, size_t bytes, int node);

/*
 * Moves every page that has a user to its user's node or, if that has no memory, to the node where
 * first touch by its CPUs places pages. Returns how many of the present pages did not move (in
 * system pages), or -1 with errno: EPERM and ENOSYS if the kernel forbids it.
 */
long region_migrate(struct region *);

/*
 * Multi-size transparent huge pages (Linux 6.8) consist of several pages, but are smaller than the
 * huge page of the page table. A CPU that finds their entries next to each other may need one TLB
 * entry for all.
 */

/*
 * Why this kernel does not give such pages to memory that is advised to have them; NULL: it does.
 * To be freed. `root` as in base/sysfs.h.
 */
char *multisize_lack(const char *root, size_t bytes);

/*
 * Touches all pages of a region, in the order of addresses. A region of PAGES_MULTISIZE is touched
 * page by page of that size, each page being a mapping of its own meanwhile: the kernel takes the
 * largest size that fits the mapping. Returns the number of these pages that the kernel counted (in
 * the whole system) over the number in the region; NAN: the kernel does not count, or the region
 * has other pages.
 */
double multisize_touch(const struct region *);

#endif
