/* SPDX-License-Identifier: Apache-2.0 */
/* Packages, cores, nodes, caches, distances. */
#ifndef LOCUS_PROVENANCE_TOPOLOGY_H
#define LOCUS_PROVENANCE_TOPOLOGY_H

#include <jansson.h>

struct machine;

json_t *provenance_topology(const char *root, const struct machine *);

#endif
