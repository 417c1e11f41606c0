/* SPDX-License-Identifier: Apache-2.0 */
/* Memory modules as the kernel's drivers of memory controllers (EDAC) see them; no root needed. */
#ifndef LOCUS_EDAC_H
#define LOCUS_EDAC_H

#include <stdbool.h>

#define EDAC "/sys/devices/system/edac/mc"

struct modules;

/*
 * Adds the modules with their type and size. False: no driver reports any, or it reports rows of
 * chips, of which a module may have several. *channels: how many hold memory; 0: unknown. `root` as
 * in base/sysfs.h.
 */
bool edac_modules(const char *root, struct modules *, unsigned *channels);

#endif
