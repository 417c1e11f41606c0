/* SPDX-License-Identifier: Apache-2.0 */
/* Huge pages of regions: whether they are available, and why they were refused. */
#ifndef LOCUS_HUGE_H
#define LOCUS_HUGE_H

struct region;

/*
 * 0 if the control groups' limits leave room for the huge pages that this region and those mapped
 * before it have yet to touch; else -1 with errno ENOMEM and arena_refusal().
 */
int huge_within_limit(struct region *);
/* 0 if the node has enough free huge pages for the regions bound to it; else -1 as above. */
int huge_on_node(struct region *, int node);

/* Sets arena_refusal() to why mmap() failed with this errno, which is kept. */
void huge_refused(struct region *);

#endif
