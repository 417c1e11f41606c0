/* SPDX-License-Identifier: Apache-2.0 */
/* What the firmware's table of memory attributes (ACPI HMAT) claims of each node's memory. */
#ifndef LOCUS_HMAT_H
#define LOCUS_HMAT_H

#include <stdio.h>
#include <hwloc.h>

/* A table of latencies and bandwidths, for people; nothing where firmware tells none. */
void hmat_print(hwloc_topology_t, FILE *);

#endif
