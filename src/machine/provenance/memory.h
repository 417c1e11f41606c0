/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: sizes, pages, settings. */
#ifndef LOCUS_PROVENANCE_MEMORY_H
#define LOCUS_PROVENANCE_MEMORY_H

#include <jansson.h>

struct machine;

json_t *provenance_memory(const char *root, const struct machine *);

#endif
