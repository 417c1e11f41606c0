/* SPDX-License-Identifier: Apache-2.0 */
/* Memory modules in firmware's table of the machine's parts (SMBIOS, DSP0134, structure 17). */
#ifndef LOCUS_DMI_H
#define LOCUS_DMI_H

#include <stddef.h>
#include <stdint.h>

struct modules;

/*
 * Adds the slots and modules of a table. The table may hold any bytes: reading ends at the first
 * structure that does not fit into it.
 */
void dmi_modules(const uint8_t *table, size_t n, struct modules *);

#endif
