/* SPDX-License-Identifier: Apache-2.0 */
/* A batch of samples, with the evidence beside it. */
#ifndef LOCUS_BATCH_H
#define LOCUS_BATCH_H

#include "harness/sample/series.h"

/*
 * Takes so many samples of an allocation that is ready; `warm`: after one that is not kept, which
 * warms the caches. Returns false on failure.
 */
bool batch_take(struct series *, struct team *, unsigned samples, bool warm);

#endif
