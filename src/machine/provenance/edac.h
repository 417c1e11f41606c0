/* SPDX-License-Identifier: Apache-2.0 */
/* Memory modules as the kernel's drivers of memory controllers (EDAC) see them; no root needed. */
#ifndef LOCUS_EDAC_H
#define LOCUS_EDAC_H

#include <stdbool.h>

#define EDAC "/sys/devices/system/edac/mc"

struct modules;

/*
 * Adds the modules with their type and size. False: the kernel has no driver here, or the driver
 * reports rows of chips, of which a module may have several. *channels: those that hold memory; 0:
 * unknown. `root` as in base/sysfs.h.
 */
bool edac_modules(const char *root, struct modules *, unsigned *channels);

#endif
