/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Multi-size transparent huge pages (Linux 6.8): of some pages, but smaller than the huge page of
 * the page table. A CPU that finds their entries next to each other may need one TLB entry for all.
 */
#ifndef LOCUS_MULTISIZE_H
#define LOCUS_MULTISIZE_H

#include <stddef.h>

struct region;

/*
 * Why this kernel gives no such pages to memory that is advised to have them; NULL: it does. To be
 * freed. `root` as in base/sysfs.h.
 */
char *multisize_lack(const char *root, size_t bytes);
/* -1 with errno and arena_refusal() if the region can't have its pages. */
int multisize_allowed(const struct region *);

/*
 * Touches all pages of a region, in the order of addresses. One of PAGES_MULTISIZE is touched page
 * by page of that size, each a mapping of its own meanwhile: the kernel takes the largest size that
 * fits the mapping. Returns how many of these pages the kernel counted (in all of the system), over
 * how many there are; NAN: it counts none, or the region has others.
 */
double multisize_touch(const struct region *);

#endif
