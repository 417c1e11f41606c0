/* SPDX-License-Identifier: Apache-2.0 */
/* Memory modules, by firmware's DMI table, which only root may read, else by the kernel's EDAC. */
#ifndef LOCUS_DIMMS_H
#define LOCUS_DIMMS_H

#include <jansson.h>

/*
 * Puts `modules`, `slots` and `channels` into the object; what can't be read is null with its
 * reason. `root` as in base/sysfs.h.
 */
void dimms_put(json_t *memory, const char *root);

#endif
