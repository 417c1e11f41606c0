/* SPDX-License-Identifier: Apache-2.0 */
/* Loads hwloc's topology: of this machine, from a file, or from a synthetic description. */
#ifndef LOCUS_LOAD_H
#define LOCUS_LOAD_H

struct machine;

/*
 * Sets topology, running, name and ignored. `description` as in open.h. -1 with *error;
 * machine_close() frees what was set.
 */
int topology_load(struct machine *, const char *description, const char **error);

#endif
