/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOCUS_MIGRATE_H
#define LOCUS_MIGRATE_H

struct region;

/*
 * Moves every page that has a user to its user's node, or where that has no memory, to the one that
 * its CPUs touch first. Returns the system's pages that would not move (of those that are there),
 * or -1 with errno: EPERM and ENOSYS where the kernel forbids it.
 */
long region_migrate(struct region *);

#endif
