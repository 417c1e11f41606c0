/* SPDX-License-Identifier: Apache-2.0 */
/* Which machine hwloc reads: this one, a file's, or a described one. */
#ifndef LOCUS_LOAD_H
#define LOCUS_LOAD_H

struct machine;

/*
 * Sets topology, here, name and ignored. `description` as in open.h. -1 with *error; what was set
 * until then is machine_close()'s to free.
 */
int topology_load(struct machine *, const char *description, const char **error);

#endif
