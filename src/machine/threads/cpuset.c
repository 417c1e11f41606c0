/* SPDX-License-Identifier: Apache-2.0 */
/* The CPUs of the calling thread, in sets of the kernel's size. */
#include "machine/threads/affinity.h"

#include <errno.h>
#include <sched.h>
#include <hwloc/glibc-sched.h>

enum { LEAST = 1024, MOST = 1 << 16 }; /* CPUs; more than any Linux supports */

/* The calling thread's set, of *cpus bits: doubled until the kernel accepts it. */
static cpu_set_t *get(unsigned *cpus)
{
	int error = EINVAL;

	for (*cpus = LEAST; *cpus <= MOST && error == EINVAL; *cpus *= 2) {
		cpu_set_t *set = CPU_ALLOC(*cpus);

		if (set && !sched_getaffinity(0, CPU_ALLOC_SIZE(*cpus), set))
			return set;
		error = errno;
		CPU_FREE(set);
	}
	errno = error;
	return NULL;
}

hwloc_bitmap_t cpuset_get(void)
{
	unsigned cpus;
	cpu_set_t *set = get(&cpus);
	hwloc_bitmap_t found = set ? hwloc_bitmap_alloc() : NULL;

	if (found)
		hwloc_cpuset_from_glibc_sched_affinity(NULL, found, set, CPU_ALLOC_SIZE(cpus));
	CPU_FREE(set);
	return found;
}

int cpuset_set(hwloc_const_bitmap_t wanted)
{
	const int last = hwloc_bitmap_last(wanted);
	cpu_set_t *set = last < 0 ? NULL : CPU_ALLOC((size_t)last + 1);
	int status = -1;

	if (last < 0)
		errno = EINVAL;
	if (!set)
		return -1;
	hwloc_cpuset_to_glibc_sched_affinity(NULL, wanted, set, CPU_ALLOC_SIZE((size_t)last + 1));
	status = sched_setaffinity(0, CPU_ALLOC_SIZE((size_t)last + 1), set);
	CPU_FREE(set);
	return status;
}

int cpuset_set_one(int cpu)
{
	hwloc_bitmap_t one = hwloc_bitmap_alloc();
	int status = one ? hwloc_bitmap_only(one, (unsigned)cpu) : -1;

	if (!status)
		status = cpuset_set(one);
	hwloc_bitmap_free(one);
	return status;
}

unsigned cpuset_room(void)
{
	unsigned cpus;
	cpu_set_t *set = get(&cpus);

	CPU_FREE(set);
	return set ? cpus : LEAST;
}
