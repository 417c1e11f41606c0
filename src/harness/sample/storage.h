/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a series: got, grown and given back. */
#ifndef LOCUS_STORAGE_H
#define LOCUS_STORAGE_H

#include "harness/sample/series.h"

/* `counting`: what is counted beside its samples; NULL: nothing. -1: no memory. */
int series_open(struct series *, struct planned *, struct counting *);
void series_close(struct series *);

/* Makes room for one more batch, of so many samples; false: no memory. */
bool series_room(struct series *, size_t samples);

#endif
