/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a trial, divided into one piece for each worker. */
#ifndef LOCUS_PIECES_H
#define LOCUS_PIECES_H

#include "trial.h"

/*
 * Maps contiguous `pieces` of `bytes` each, on base pages, for the workers from `first` on: each
 * must touch its own first, so that it lies on its node. `alone`: no other worker uses it. The
 * arena owns it. Returns NULL as region_map() does.
 */
void *pieces_map(const struct trial *, const char *name, unsigned first, unsigned pieces,
		 size_t bytes, bool alone);

#endif
