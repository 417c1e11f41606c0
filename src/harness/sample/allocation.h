/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An allocation of a trial: fresh memory, prepared and touched. The nodes of its pages are
 * read back before its samples and after.
 */
#ifndef LOCUS_ALLOCATION_H
#define LOCUS_ALLOCATION_H

#include "harness/sample/series.h"

/*
 * Returns false on all ranks if one of them failed; failure or impossible says why. The team stays
 * seated for this trial.
 */
bool allocation_open(struct series *, struct team *);
/*
 * One execution of needs.warm units, which is not a sample: before an allocation's first batch, and
 * its calibration. Not when it is opened: the other trials of its group are opened after it.
 */
void allocation_warm(struct series *, struct team *);
/* Reads the pages back, verifies the answer, and holds the memory or gives it back. */
void allocation_close(struct series *, struct team *);
/* Whether the series has failed, on all ranks; if so, the allocation is closed. */
bool allocation_failed(struct series *, struct team *);

#endif
