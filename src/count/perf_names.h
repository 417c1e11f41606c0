/* SPDX-License-Identifier: Apache-2.0 */
/* The events of perf_event_open() by name, as libpfm4 writes them: "perf::CYCLES". */
#ifndef LOCUS_PERF_NAMES_H
#define LOCUS_PERF_NAMES_H

#include "count/provider.h"

/*
 * A flag in `code`: the event happens only in the kernel, so it would read 0 if only user space
 * were counted.
 */
#define PERF_INSIDE 0x100

/* find() of provider.h, for software and hardware events. */
bool perf_software_find(void *library, struct wanted *, struct reason *);
bool perf_hardware_find(void *library, struct wanted *, struct reason *);
/* All names of both. */
void perf_names(void *library, void (*each)(void *, const char *), void *argument);

#endif
