/* SPDX-License-Identifier: Apache-2.0 */
/* perf_event_open(): what may be counted, and what stands in the way where it may not. */
#ifndef LOCUS_PERF_OPEN_H
#define LOCUS_PERF_OPEN_H

#include "count/provider.h"

/*
 * A descriptor that counts the event on the calling thread; -1 with errno. Software events are
 * counted in the kernel, too, where that may be watched; those of the processor in user space, as
 * PAPI counts them. EBUSY: LIKWID has the processor's counters.
 */
int perf_open(const struct wanted *);
/* Why perf_open() failed with this errno. */
void perf_explain(const struct wanted *, int error, struct reason *);
/* Why an event that could be opened has no counter. */
void perf_explain_taken(struct reason *);
/* Why the counters of a package can't be opened. */
void perf_explain_uncore(struct reason *);

/* Tries cycles, or context switches: true where they can't be opened, and why. */
bool perf_no_hardware(struct reason *);
bool perf_no_software(struct reason *);
/* Whether LIKWID has the processor's counters, which have one owner. */
bool perf_owned(struct reason *);

#endif
