/* SPDX-License-Identifier: Apache-2.0 */
/* What machines of one kind have in common, as a hash. */
#ifndef LOCUS_CLASS_H
#define LOCUS_CLASS_H

#include <jansson.h>

struct machine;

/*
 * 16 hex digits, the hash of: architecture, vendor, family, model and stepping of the CPU (`cpu` is
 * that of provenance_cpu()); the hypervisor (NULL: none); page sizes; the tree of packages, dies,
 * NUMA nodes with their memory, caches, cores and hardware threads; and the types of cores, if
 * there are several. It leaves out what software sets, such as kernel, microcode and frequencies,
 * and numbers and names of one machine. NULL: no memory.
 */
json_t *provenance_class(const char *root, const struct machine *, const json_t *cpu,
			 const char *hypervisor);

#endif
