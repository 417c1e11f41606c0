/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events counted by perf_event_open(): the kernel's software events, and the processor's in user
 * space.
 */
#ifndef LOCUS_PERF_H
#define LOCUS_PERF_H

#include "count/provider.h"

extern const struct provider perf_software, perf_hardware;

/*
 * A descriptor that counts the event on the calling thread; -1 with errno. Software events are
 * counted in the kernel, too, where permitted; hardware events in user space only, as PAPI does.
 * EBUSY: LIKWID owns the processor's counters.
 */
int perf_open(const struct wanted *);

/* Why the counters of a package can't be opened. */
void perf_explain_uncore(struct reason *);

/* Try to open cycles, or context switches. True with a reason: they can't be opened. */
bool perf_no_hardware(struct reason *);
bool perf_no_software(struct reason *);

/* Whether LIKWID owns the processor's counters; if so, sets the reason. */
bool perf_owned(struct reason *);

/*
 * A flag in `code`: the event happens only in the kernel, so it would read 0 if only user space
 * were counted.
 */
#define PERF_INSIDE 0x100

/* find() of provider.h. Names are as libpfm4 writes them: "perf::CYCLES". */
bool perf_software_find(void *library, struct wanted *, struct reason *);
bool perf_hardware_find(void *library, struct wanted *, struct reason *);
/* All names of both. */
void perf_names(void *library, void (*each)(void *, const char *), void *argument);

#endif
