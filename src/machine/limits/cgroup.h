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

/*
 * How many processes of a run draw on the host's memory, and how many on that of a control group:
 * those in it, and below it. Groups that are not named are this process's alone.
 */
enum { CGROUP_LEVELS = 16 };
struct limit_sharers {
	unsigned host;
	struct {
		uint64_t id;
		unsigned sharers;
	} group[CGROUP_LEVELS]; /* up to the first id 0 */
};

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

/*
 * Numbers of this process's group for memory and of those above it, the same for all processes of
 * the host; the rest is 0.
 */
void cgroup_ids(const char *root, uint64_t id[CGROUP_LEVELS]);

/* Lower the limit to what the groups leave of memory, or of huge pages of one size. */
void cgroup_limit_memory(const char *root, const struct limit_sharers *, struct memory_limit *);
void cgroup_limit_huge(const char *root, size_t size, struct memory_limit *);

/* Whether a group may have no more threads; its limit as text: "pids.max 64 of cgroup /job". */
bool cgroup_is_full(const char *root, char *limit, size_t size);

#endif
