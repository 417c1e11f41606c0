/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU: vendor, model, features. */
#ifndef LOCUS_PROVENANCE_CPU_H
#define LOCUS_PROVENANCE_CPU_H

#include <jansson.h>

json_t *provenance_cpu(const char *root);

#endif
