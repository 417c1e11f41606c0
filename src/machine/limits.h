/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this process may take: memory, huge pages, CPUs. Read anew at each call; `root` as in
 * sysfs.h. Limits that no file tells are no limits, so that nothing here fails for want of a cgroup
 * or of /sys.
 */
#ifndef LOCUS_LIMITS_H
#define LOCUS_LIMITS_H

#include <stddef.h>
#include <stdint.h>

#include "base/numbers.h"
#include "machine/nodes.h"

/*
 * The least of MemAvailable, cgroups (v1 or v2, with all ancestors), the nodes that the cpuset and
 * the inherited memory policy allow, commit limit and ulimits.
 */
struct memory_limit {
	uint64_t available; /* bytes that can still be taken; NO_LIMIT where nothing is known */
	/*
	 * what says so, after "because of": "memory.max 2 GiB of cgroup /job_7, with 1 GiB in use"
	 */
	char what[512];
};
void memory_limit_read(const char *root, struct memory_limit *);

/*
 * Bytes that are kept beside a trial's data: page tables and claims, 12 bytes a page; samples and
 * stacks.
 */
uint64_t memory_beside(uint64_t bytes);

/* Pages of hugetlb of one size. */
struct huge_pages {
	uint64_t total, free;
	/*
	 * can still be had: unreserved, with what the kernel makes when asked, as far as the cgroup
	 * allows
	 */
	uint64_t available;
};
#define MOST_HUGE_SIZES 8
/* The sizes there are (bytes, ascending); returns how many, 0 where there are none. */
unsigned huge_page_sizes(const char *root, size_t sizes[MOST_HUGE_SIZES]);
/* -1 with errno: ENOENT there is no such size or node. */
/*
 * What cgroups still allow of one size. Beyond it touching ends in a SIGBUS: nothing is refused
 * before.
 */
void huge_limit_read(const char *root, size_t size, struct memory_limit *);
int huge_pages_read(const char *root, size_t size, int node, struct huge_pages *);

/* The control groups that we are in. */
struct cgroup {
	int version;	       /* of the one that limits memory: 1 or 2; 0: none */
	char *path;	       /* that one's, as /proc/self/cgroup has it; NULL: none */
	uint64_t memory_limit; /* bytes, the least of its own and its ancestors'; NO_LIMIT */
	double cpu_quota;      /* CPUs, likewise; INFINITY: none */
	char *cpuset;	       /* CPUs that may be used ("0-1"); NULL: no cpuset */
};
void cgroup_read(const char *root, struct cgroup *);
void cgroup_free(struct cgroup *);

#endif
