/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOCUS_HYPERVISOR_H
#define LOCUS_HYPERVISOR_H

#include <stdbool.h>

/*
 * The hypervisor: "kvm", ..., or "unknown" in a virtual machine of unknown kind. NULL on bare
 * metal, or if that is unknown (*known false). `root` as in base/sysfs.h.
 */
const char *hypervisor_find(const char *root, bool *known);

#endif
