/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPUs that the calling thread may run on. The kernel rejects a buffer shorter than its own
 * set, which has a bit for each possible CPU: glibc's fixed 1024 may be too few.
 */
#ifndef LOCUS_CPUSET_H
#define LOCUS_CPUSET_H

#include <hwloc.h>

/* NULL with errno; to be freed by hwloc_bitmap_free(). */
hwloc_bitmap_t cpuset_get(void);

/* -1 with errno: EINVAL if none of them exists and is allowed. */
int cpuset_set(hwloc_const_bitmap_t);
int cpuset_set_one(int cpu);

/*
 * Size of the kernel's sets in CPUs, rounded up to a power of two: the same for all processes of a
 * machine.
 */
unsigned cpuset_room(void);

#endif
