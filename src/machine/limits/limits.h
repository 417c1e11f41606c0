/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much memory this process may allocate. Read anew at each call; `root` as in base/sysfs.h.
 * Nothing here fails: a limit that can't be read is no limit.
 */
#ifndef LOCUS_LIMITS_H
#define LOCUS_LIMITS_H

#include "machine/limits/cgroup.h"
#include "machine/limits/limit.h"

/*
 * The least of MemAvailable, cgroups (v1 or v2, with all ancestors), memory of the nodes that the
 * cpuset and the inherited memory policy allow, commit limit and ulimits.
 */
void memory_limit_read(const char *root, struct memory_limit *);
/* The same for one of several processes, of which each gets its part of what they share. */
void memory_limit_read_part(const char *root, const struct limit_sharers *, struct memory_limit *);

/*
 * Bytes needed in addition to a trial's data: page tables and claims, 12 bytes a page; samples and
 * stacks.
 */
uint64_t memory_beside(uint64_t bytes);

#endif
