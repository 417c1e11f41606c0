/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOCUS_HASHMAP_LIBRARY_H
#define LOCUS_HASHMAP_LIBRARY_H

#include "bench/hashmap/map.h"

/* Empty where it is not available. */
extern const struct map_kind library_map;
/* Why the map is not available; NULL: it is. */
const char *library_available(void);

#endif
