/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much memory this process may take. Read anew at each call; `root` as in base/sysfs.h. Limits
 * that no file tells are no limits, so that nothing here fails for want of a cgroup or of /sys.
 */
#ifndef LOCUS_LIMITS_H
#define LOCUS_LIMITS_H

#include "machine/limits/limit.h"

/*
 * The least of MemAvailable, cgroups (v1 or v2, with all ancestors), the nodes that the cpuset and
 * the inherited memory policy allow, commit limit and ulimits.
 */
void memory_limit_read(const char *root, struct memory_limit *);

/*
 * Bytes that are kept beside a trial's data: page tables and claims, 12 bytes a page; samples and
 * stacks.
 */
uint64_t memory_beside(uint64_t bytes);

#endif
