/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits of this process's control groups. Read anew at each call; `root` as in base/sysfs.h.
 * Nothing here fails: without a group there is no limit.
 */
#ifndef LOCUS_CGROUP_H
#define LOCUS_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memory_limit;

struct cgroup {
	int version;	       /* of the group that limits memory: 1 or 2; 0: none */
	char *path;	       /* that group's, as /proc/self/cgroup has it; NULL: none */
	uint64_t memory_limit; /* bytes, least of the group's and its ancestors'; NO_LIMIT: none */
	double cpu_quota;      /* CPUs, likewise; INFINITY: none */
	char quota_is[80];     /* the file and what it holds: "cpu.max 5000 100000" */
	char *cpuset;	       /* CPUs that may be used ("0-1"); NULL: no cpuset */
};
void cgroup_read(const char *root, struct cgroup *);
void cgroup_free(struct cgroup *);

/* Lower the limit to what the groups leave of memory, or of huge pages of one size. */
void cgroup_limit_memory(const char *root, struct memory_limit *);
void cgroup_limit_huge(const char *root, size_t size, struct memory_limit *);

/* Whether a group may have no more threads; its limit as text: "pids.max 64 of cgroup /job". */
bool cgroup_is_full(const char *root, char *limit, size_t size);

#endif
