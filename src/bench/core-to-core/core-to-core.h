/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a core-to-core trial: separate lines for each meeting of each pair. */
#ifndef LOCUS_CORE_TO_CORE_H
#define LOCUS_CORE_TO_CORE_H

#include "bench/core-to-core/exchange.h"

struct core_to_core {
	exchange *exchange;
	struct lines *lines;	   /* meetings * tables */
	unsigned meetings, tables; /* meetings of a pair; pairs that meet concurrently */
};

static inline struct lines *core_to_core_lines(const struct core_to_core *c, unsigned meeting,
					       unsigned table)
{
	return &c->lines[(size_t)meeting * c->tables + table];
}

#endif
