/* SPDX-License-Identifier: Apache-2.0 */
/* Packages, cores, nodes, caches, distances. */
#ifndef LOCUS_PROVENANCE_TOPOLOGY_H
#define LOCUS_PROVENANCE_TOPOLOGY_H

#include <jansson.h>

struct machine;

json_t *topology_of(const char *root, const struct machine *);

#endif
