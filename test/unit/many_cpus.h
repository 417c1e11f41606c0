/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulates a kernel with 4096 CPUs while `many` is set: it refuses shorter sets, as Linux does. A
 * thread may run on CPUs 0, 1500 and 3000, and runs on the one where it was put last.
 */
#ifndef LOCUS_MANY_CPUS_H
#define LOCUS_MANY_CPUS_H

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { KERNEL_CPUS = 4096, FIRST_OF_MANY = 0, MIDDLE_OF_MANY = 1500, LAST_OF_MANY = 3000 };

static bool many;
static size_t kernel_cpus = KERNEL_CPUS;
static _Thread_local int put_on = -1; /* -1: where it was */

int sched_getaffinity(pid_t process, size_t size, cpu_set_t *set)
{
	long filled;

	if (!many) {
		filled = syscall(SYS_sched_getaffinity, process, size, set);
		if (filled < 0)
			return -1;
		memset((char *)set + filled, 0, size - (size_t)filled);
		return 0;
	}
	if (size < kernel_cpus / 8) {
		errno = EINVAL;
		return -1;
	}
	CPU_ZERO_S(size, set);
	CPU_SET_S((size_t)FIRST_OF_MANY, size, set);
	CPU_SET_S((size_t)MIDDLE_OF_MANY, size, set);
	CPU_SET_S((size_t)LAST_OF_MANY, size, set);
	return 0;
}

int sched_setaffinity(pid_t process, size_t size, const cpu_set_t *set)
{
	if (!many)
		return (int)syscall(SYS_sched_setaffinity, process, size, set);
	for (int cpu = LAST_OF_MANY; cpu >= 0; cpu -= MIDDLE_OF_MANY)
		if (CPU_ISSET_S((size_t)cpu, size, set)) {
			put_on = cpu;
			return 0;
		}
	errno = EINVAL;
	return -1;
}

int sched_getcpu(void)
{
	unsigned cpu = 0;

	if (many && put_on >= 0)
		return put_on;
	return syscall(SYS_getcpu, &cpu, NULL, NULL) ? -1 : (int)cpu;
}

#endif
