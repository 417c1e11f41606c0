/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A part of a trial's memory: mapped with the page size asked for, and claimed page by page ("this
 * page is to lie on node 1", "a worker on node 0 uses it"). membind.h places it, placement.h reads
 * back its nodes, and the harness compares them with the claim before and after the timed part.
 */
#ifndef LOCUS_REGION_H
#define LOCUS_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/memory/pages.h"

struct machine;
struct arena;
struct region;

/* Whether the size is PAGES_2M or PAGES_1G; Arm's kernels have others, too. */
bool pages_are_hugetlb(size_t bytes);

/*
 * Maps zeroed, untouched memory, aligned to its granule and rounded up to it. NULL with errno, and
 * arena_refusal() if huge pages are missing, reserved or multi-size ones.
 */
struct region *region_map(struct arena *, const char *name, size_t bytes, enum pages);
void *region_base(const struct region *);
size_t region_bytes(const struct region *); /* as mapped: whole granules */
/*
 * Bytes that are placed together: the page size asked for, for THP that of transparent huge pages,
 * even if the kernel then uses smaller ones.
 */
size_t region_granule(const struct region *);
/*
 * Bytes of memory that a region may take: with THP rounded up to huge pages, which are 512 MiB if
 * the system's page is 64 KiB.
 */
size_t region_takes(const struct machine *, size_t bytes, enum pages);

/*
 * Gives the pages back, so that all are untouched again; the policy stays. -1 with errno: EINVAL on
 * reserved huge pages before Linux 5.18.
 */
int region_discard(struct region *);

/*
 * Claims, in bytes, rounded inwards to whole granules, so that a page shared by two owners is
 * claimed for neither. The end of the bytes asked for counts as the end of the last granule.
 */
#define ANY_NODE (-1)
/*
 * These pages are to lie on this node or, if it has no memory, on the node where first touch by its
 * CPUs places pages.
 */
void region_home(struct region *, size_t offset, size_t bytes, int node);
/* Pages without a home are to lie evenly on all nodes with memory. */
void region_even(struct region *);
/* A worker on this node uses these pages. */
void region_user(struct region *, size_t offset, size_t bytes, int node);

#endif
