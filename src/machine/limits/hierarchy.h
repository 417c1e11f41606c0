/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This process's place in a hierarchy of control groups, version 1 or 2: from its own group up to
 * the highest visible one. In containers, groups further up are hidden, and so are their limits.
 */
#ifndef LOCUS_HIERARCHY_H
#define LOCUS_HIERARCHY_H

#include <limits.h>
#include <stdbool.h>

struct hierarchy {
	int version;
	char path[PATH_MAX];  /* as /proc/self/cgroup has it */
	char mount[PATH_MAX]; /* the highest visible group */
	char group[PATH_MAX]; /* mount, or a folder in it */
};

/*
 * Finds this process's group for a controller ("memory"); `root` as in base/sysfs.h. -1: there is
 * none, or it is not visible.
 */
int hierarchy_find(const char *root, const char *controller, struct hierarchy *);
/* Moves to the parent group; false: none is visible. */
bool hierarchy_up(struct hierarchy *);
/* The group's name in messages: its path below the mount. */
const char *hierarchy_group(const struct hierarchy *);

#endif
