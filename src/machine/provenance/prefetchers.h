/* SPDX-License-Identifier: Apache-2.0 */
/* Hardware prefetchers that are disabled: by a register that only root can read. */
#ifndef LOCUS_PREFETCHERS_H
#define LOCUS_PREFETCHERS_H

#include <jansson.h>

struct machine;

/*
 * Puts `prefetchers` into the object: {register, value, disabled}, or null with the reason. `cpu`
 * is that of provenance_cpu(). In a virtual machine (hypervisor not NULL) registers say nothing of
 * the processor.
 */
void prefetchers_put(json_t *object, const char *root, const struct machine *, const json_t *cpu,
		     const char *hypervisor);

#endif
