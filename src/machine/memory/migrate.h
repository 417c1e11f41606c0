/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOCUS_MIGRATE_H
#define LOCUS_MIGRATE_H

struct region;

/*
 * Moves every page that has a user to its user's node or, if that has no memory, to the node where
 * first touch by its CPUs places pages. Returns how many of the present pages did not move (in
 * system pages), or -1 with errno: EPERM and ENOSYS if the kernel forbids it.
 */
long region_migrate(struct region *);

#endif
