/* SPDX-License-Identifier: Apache-2.0 */
/* Each node's memory as the firmware's table (ACPI HMAT) describes it. */
#ifndef LOCUS_HMAT_H
#define LOCUS_HMAT_H

#include <stdio.h>
#include <hwloc.h>

/* Prints a table of latencies and bandwidths; nothing if the firmware has none. */
void hmat_print(hwloc_topology_t, FILE *);

#endif
