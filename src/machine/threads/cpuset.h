/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPUs that the calling thread may run on. The kernel takes no set that is shorter than its
 * own, which has a bit for each CPU that the machine may ever have: glibc's fixed 1024 can be too
 * few.
 */
#ifndef LOCUS_CPUSET_H
#define LOCUS_CPUSET_H

#include <hwloc.h>

/* NULL with errno; to be freed by hwloc_bitmap_free(). */
hwloc_bitmap_t cpuset_get(void);

/* -1 with errno: EINVAL where none of them is there and allowed. */
int cpuset_set(hwloc_const_bitmap_t);
int cpuset_set_one(int cpu);

/*
 * CPUs that the kernel's sets have room for, in powers of two: the same for all processes of a
 * machine.
 */
unsigned cpuset_room(void);

#endif
