/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a run whose main thread does not come back in time: the watchdog closes the books. */
#ifndef LOCUS_CUT_H
#define LOCUS_CUT_H

#include "harness/run/run.h"

/*
 * Starts the watchdog; if it can't, says so on stderr. From now on signals end the run as
 * watchdog.h says, and a reader that is gone ends no run with a record.
 */
void cut_start(struct run *);
void cut_stop(void);

#endif
