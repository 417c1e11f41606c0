/* SPDX-License-Identifier: Apache-2.0 */
/* When trials that are measured in turn have been measured enough, and why each of them ended. */
#ifndef LOCUS_STOP_H
#define LOCUS_STOP_H

#include "harness/run/alternation.h"

/* True if all trials with batches have converged, in one allocation or in all (< 0). */
bool stop_converged(const struct alternation *, int allocation);
/*
 * Whether to stop after an allocation that began at `began` (s): `left` of the samples asked for
 * are still to be taken; `any`: some trial had memory. STOPPED_NOT_RUN: another one is to follow.
 */
enum stopped stop_after(const struct alternation *, unsigned allocation, double began,
			unsigned left, bool any);
/* Why one trial stopped, given why its group did. */
enum stopped stop_reason(const struct alternation *, const struct series *, enum stopped);

#endif
