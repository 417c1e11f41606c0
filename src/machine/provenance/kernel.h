/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel: release, version, command line. */
#ifndef LOCUS_PROVENANCE_KERNEL_H
#define LOCUS_PROVENANCE_KERNEL_H

#include <jansson.h>

json_t *provenance_kernel(const char *root);

#endif
