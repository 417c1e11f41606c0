/* SPDX-License-Identifier: Apache-2.0 */
/* The events of perf_event_open() by name, as libpfm4 writes them: "perf::CYCLES". */
#ifndef LOCUS_PERF_NAMES_H
#define LOCUS_PERF_NAMES_H

#include "count/provider.h"

/* In `code`: it happens in the kernel only, so where the kernel may not be watched it reads 0. */
#define PERF_INSIDE 0x100

/* As provider.h says of find(): events of the kernel's software, and those of the processor. */
bool perf_software_find(void *library, struct wanted *, struct reason *);
bool perf_hardware_find(void *library, struct wanted *, struct reason *);
/* All names of both. */
void perf_names(void *library, void (*each)(void *, const char *), void *argument);

#endif
