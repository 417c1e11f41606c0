/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where we are in a hierarchy of control groups, version 1 or 2: from our own group upwards, as far
 * as it is mounted. Groups that can't be seen (containers) limit nothing that we could read.
 */
#ifndef LOCUS_HIERARCHY_H
#define LOCUS_HIERARCHY_H

#include <limits.h>
#include <stdbool.h>

struct hierarchy {
	int version;
	char path[PATH_MAX];  /* as /proc/self/cgroup has it */
	char mount[PATH_MAX]; /* as far up as can be seen */
	char group[PATH_MAX]; /* mount, or a folder in it */
};

/*
 * Of a controller ("memory"); `root` as in base/sysfs.h. -1: we are in none, or it can't be seen.
 */
int hierarchy_find(const char *root, const char *controller, struct hierarchy *);
/* From a group to its parent; false: there is none to be seen. */
bool hierarchy_up(struct hierarchy *);
/* What the group is called for people: its path below the mount. */
const char *hierarchy_group(const struct hierarchy *);

#endif
