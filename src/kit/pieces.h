/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a trial that is cut into pieces, one for each worker. */
#ifndef LOCUS_PIECES_H
#define LOCUS_PIECES_H

#include "trial.h"

/*
 * Maps `pieces` pieces of so many bytes, one after the other, on pages of the system's size. They
 * belong to the workers from `first` on: each is to touch its own first, and so have it on its
 * node. `alone`: nobody else uses it. The arena keeps it; NULL as of region_map().
 */
void *pieces_map(const struct trial *, const char *name, unsigned first, unsigned pieces,
		 size_t bytes, bool alone);

#endif
