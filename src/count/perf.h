/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events counted by perf_event_open(): the kernel's software events, and the processor's in user
 * space.
 */
#ifndef LOCUS_PERF_H
#define LOCUS_PERF_H

#include "count/provider.h"

extern const struct provider perf_software, perf_hardware;

#endif
