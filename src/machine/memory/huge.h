/* SPDX-License-Identifier: Apache-2.0 */
/* Huge pages of regions: whether they can be had, and why they were refused. */
#ifndef LOCUS_HUGE_H
#define LOCUS_HUGE_H

struct region;

/*
 * Whether a control group allows what this region and the ones mapped before it have yet to touch.
 * -1 with errno ENOMEM and arena_refusal().
 */
int huge_within_limit(struct region *);
/* Whether the node has enough of them for what is bound to it. -1 as above. */
int huge_on_node(struct region *, int node);

/* Notes in arena_refusal() why mmap() refused them; errno is mmap's, and stays. */
void huge_refused(struct region *);

#endif
