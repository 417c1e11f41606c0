/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOCUS_HASHMAP_FAST_H
#define LOCUS_HASHMAP_FAST_H

#include "bench/hashmap/map.h"

extern const struct map_kind fast_map;

#endif
