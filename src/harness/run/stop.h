/* SPDX-License-Identifier: Apache-2.0 */
/* When trials that are measured in turn have been measured enough, and why each of them ended. */
#ifndef LOCUS_STOP_H
#define LOCUS_STOP_H

#include "harness/run/alternation.h"

/* True if all that can be measured have converged, in one allocation or in all (< 0). */
bool stop_converged(const struct alternation *, int allocation);
/*
 * After `left` samples were left of those asked for, and the allocation that began then (s) was
 * measured, unless none could be had (`any`). STOPPED_NOT_RUN: there is to be another one.
 */
enum stopped stop_after(const struct alternation *, unsigned allocation, double began,
			unsigned left, bool any);
/* Why a trial ended, where the whole group ended for this reason. */
enum stopped stop_reason(const struct alternation *, const struct series *, enum stopped);

#endif
