/* SPDX-License-Identifier: Apache-2.0 */
/* Memory modules (DIMMs), counted by kind. `root` as in base/sysfs.h. */
#ifndef LOCUS_MODULES_H
#define LOCUS_MODULES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODULES_EDAC "/sys/devices/system/edac/mc"

enum { MODULES_KINDS = 32 };

/* One kind of module, and how many there are. 0 and "": unknown. */
struct module {
	char type[32];		    /* "DDR5" */
	uint64_t size;		    /* B */
	uint64_t speed, configured; /* transfers/s: possible, and configured */
	unsigned count;
};

struct modules {
	unsigned count, slots; /* modules, and places for them */
	unsigned kinds;
	struct module kind[MODULES_KINDS]; /* modules of further kinds are only counted */
};

void modules_add(struct modules *, const struct module *);

/*
 * Adds the modules that the kernel's memory controller drivers (EDAC) report, with type and size.
 * False: no driver reports any, or it reports rows of chips (a module may have several). *channels:
 * how many have memory; 0: unknown. Works without root.
 */
bool modules_from_edac(const char *root, struct modules *, unsigned *channels);

/*
 * Adds the slots and modules of a firmware table (SMBIOS, DSP0134, structure 17). The table may
 * hold any bytes: reading ends at the first structure that does not fit into it.
 */
void modules_from_dmi(const uint8_t *table, size_t n, struct modules *);

/*
 * Puts `modules`, `slots` and `channels` into the object: from firmware's table, which only root
 * may read, else from EDAC. Unreadable values are null with their reason.
 */
void modules_put(json_t *memory, const char *root);

#endif
