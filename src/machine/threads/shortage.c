/* SPDX-License-Identifier: Apache-2.0 */
/* Names the limit that was reached if OpenMP cannot create a thread. */
#include "machine/threads/affinity.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/message.h"
#include "base/sysfs.h"
#include "machine/limits/limits.h"

/*
 * The region that this thread is opening; 0 threads: none. If that fails, this thread calls exit(),
 * whose functions have no other access to it.
 */
static _Thread_local struct {
	unsigned threads, before; /* threads that were requested; that the process had before */
} region;

static unsigned threads_now(void)
{
	struct stat tasks;

	return stat("/proc/self/task", &tasks) ? 1 : (unsigned)tasks.st_nlink - 2;
}

void shortage_limit(char *what, size_t size)
{
	struct rlimit own;

	if (cgroup_is_full(SYSFS_ROOT, what, size))
		return;
	if (geteuid() && !getrlimit(RLIMIT_NPROC, &own) && own.rlim_cur != RLIM_INFINITY)
		snprintf(what, size, "ulimit -u %ju of this user", (uintmax_t)own.rlim_cur);
	else if (!getrlimit(RLIMIT_AS, &own) && own.rlim_cur != RLIM_INFINITY)
		snprintf(what, size, "ulimit -v %ju", (uintmax_t)own.rlim_cur >> 10);
	else
		snprintf(what, size, "the kernel's threads-max or pid_max, or memory");
}

/* Ends by _exit(): after the functions of exit(), ranks that wait for this one would not end. */
static void explain(void)
{
	const unsigned made = threads_now() - region.before + 1;
	char limit[256];

	if (!region.threads)
		return;
	shortage_limit(limit, sizeof(limit));
	message_own("%u of %u threads could not be created: %s; raise it, or choose fewer threads",
		    region.threads - made, region.threads, limit);
	fflush(NULL);
	_exit(EXIT_FAILURE);
}

void shortage_begin(unsigned threads)
{
	static atomic_flag known = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&known))
		atexit(explain);
	region.before = threads_now();
	region.threads = threads;
}

void shortage_end(void)
{
	region.threads = 0;
}
