/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOCUS_HYPERVISOR_H
#define LOCUS_HYPERVISOR_H

#include <stdbool.h>

/*
 * What we run under ("kvm"; "unknown" where only that we do is known); NULL on bare metal, and
 * where nothing tells (*known false). `root` as in base/sysfs.h.
 */
const char *hypervisor_find(const char *root, bool *known);

#endif
