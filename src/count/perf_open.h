/* SPDX-License-Identifier: Apache-2.0 */
/* perf_event_open(): opens events, and explains why one can't be opened. */
#ifndef LOCUS_PERF_OPEN_H
#define LOCUS_PERF_OPEN_H

#include "count/provider.h"

/*
 * A descriptor that counts the event on the calling thread; -1 with errno. Software events are
 * counted in the kernel, too, where permitted; hardware events in user space only, as PAPI does.
 * EBUSY: LIKWID owns the processor's counters.
 */
int perf_open(const struct wanted *);
/* Why perf_open() failed with this errno. */
void perf_explain(const struct wanted *, int error, struct reason *);
/* Why an event that was opened has no counter. */
void perf_explain_taken(struct reason *);
/* Why the counters of a package can't be opened. */
void perf_explain_uncore(struct reason *);

/* Try to open cycles, or context switches. True with a reason: they can't be opened. */
bool perf_no_hardware(struct reason *);
bool perf_no_software(struct reason *);
/* Whether LIKWID owns the processor's counters; if so, sets the reason. */
bool perf_owned(struct reason *);

#endif
