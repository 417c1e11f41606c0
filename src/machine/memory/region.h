/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A piece of a trial's memory: mapped with the page size asked for, and claimed page by page ("this
 * page is to lie on node 1", "a worker on node 0 uses it"). membind.h places it, placement.h reads
 * back where it lies: the harness holds that against the claim, before and after the timed part.
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

/* Of reserved huge pages: Arm's kernels have other sizes, too. */
bool is_hugetlb_choice(size_t bytes);

/*
 * Maps zeroed, untouched memory, aligned to its granule and rounded up to it. NULL with errno, and
 * arena_refusal() where it is for want of huge pages.
 */
struct region *region_map(struct arena *, const char *name, size_t bytes, enum pages);
void *region_base(const struct region *);
size_t region_bytes(const struct region *); /* as mapped: whole granules */
/*
 * Bytes that are placed together: the page asked for (2 MiB or what the system has for transparent
 * ones, whatever it then gives).
 */
size_t region_granule(const struct region *);
/*
 * Bytes of memory that a region may take: of transparent huge pages whole ones, which are 512 MiB
 * where a page is 64 KiB.
 */
size_t region_takes(const struct machine *, size_t bytes, enum pages);

/*
 * The claim, by bytes, rounded inwards to whole granules, so that a page shared by two owners is
 * claimed for neither; the last granule is whole where its owner has all the bytes that were asked
 * for.
 */
#define ANY_NODE (-1)
/*
 * These pages are to lie on node, or where it has no memory, on the one where pages lie that its
 * CPUs touch first.
 */
void region_home(struct region *, size_t offset, size_t bytes, int node);
/* pages without a home are to lie evenly on all nodes with memory */
void region_even(struct region *);
/* a worker on node uses them */
void region_user(struct region *, size_t offset, size_t bytes, int node);

#endif
