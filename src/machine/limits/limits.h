/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much memory this process may allocate, and what its control groups allow. Read anew at each
 * call; `root` as in base/sysfs.h. Nothing here fails: an unreadable limit does not count.
 */
#ifndef LOCUS_LIMITS_H
#define LOCUS_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/numbers.h"

/* The least of several limits of memory, with its source. */
struct memory_limit {
	uint64_t available; /* bytes that can still be allocated; NO_LIMIT: unknown */
	unsigned sharers;   /* processes of this run that share the limit evenly */
	/*
	 * the source, as words after "because of": "memory.max 2 GiB of cgroup /job_7, with 1 GiB
	 * in use"
	 */
	char what[512];
};
void limit_begin(struct memory_limit *); /* no limit */
/* Takes over a sharer's part of a limit if it is lower; `what` becomes the formatted text. */
void limit_consider(struct memory_limit *, unsigned sharers, uint64_t available, const char *format,
		    ...) __attribute__((format(printf, 4, 5)));

/*
 * How many processes of a run share the host's memory, and how many are in each control group or
 * below it. Groups that are not listed belong to this process alone.
 */
enum { CGROUP_LEVELS = 16 };
struct limit_sharers {
	unsigned host;
	struct {
		uint64_t id;
		unsigned sharers;
	} group[CGROUP_LEVELS]; /* up to the first id 0 */
};

/*
 * The least of MemAvailable, cgroups (v1 or v2, with all ancestors), memory of the nodes that the
 * cpuset and the inherited memory policy allow, commit limit and ulimits.
 */
void memory_limit_read(const char *root, struct memory_limit *);
/* For one of several processes, each of which gets its part of the shared limits. */
void memory_limit_read_part(const char *root, const struct limit_sharers *, struct memory_limit *);

/*
 * Bytes needed in addition to a trial's data: page tables and claims, 12 bytes a page; samples and
 * stacks.
 */
uint64_t memory_overhead(uint64_t bytes);

/* Control groups. Without one there is no limit. */
struct cgroup {
	int version; /* of the group that limits memory: 1 or 2; 0: none */
	char *path;  /* path of that group, as in /proc/self/cgroup; NULL: none */
	/* bytes, the least limit of the group and its ancestors; NO_LIMIT: none */
	uint64_t memory_limit;
	double cpu_quota;  /* CPUs, likewise; INFINITY: none */
	char quota_is[80]; /* the file and its content: "cpu.max 5000 100000" */
	char *cpuset;	   /* CPUs that may be used ("0-1"); NULL: no cpuset */
};
void cgroup_read(const char *root, struct cgroup *);
void cgroup_free(struct cgroup *);

/*
 * Numbers of this process's memory group and of its ancestors, the same for all processes of the
 * host; the rest is 0.
 */
void cgroup_ids(const char *root, uint64_t id[CGROUP_LEVELS]);

/* Lower the limit to what the groups have left of memory, or of huge pages of one size. */
void cgroup_limit_memory(const char *root, const struct limit_sharers *, struct memory_limit *);
void cgroup_limit_huge(const char *root, size_t size, struct memory_limit *);

/* Whether a group may have no more threads; its limit as text: "pids.max 64 of cgroup /job". */
bool cgroup_is_full(const char *root, char *limit, size_t size);

#endif
