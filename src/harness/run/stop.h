/* SPDX-License-Identifier: Apache-2.0 */
/* When trials that are measured in turn have been measured enough, and why each of them ended. */
#ifndef LOCUS_STOP_H
#define LOCUS_STOP_H

#include "harness/run/alternation.h"

/*
 * Whether to stop after so many allocations: `left` of the samples asked for are still to be taken;
 * `any`: some trial had memory. STOPPED_NOT_RUN: another one is to follow.
 */
enum stopped stop_after(struct alternation *, unsigned allocations, unsigned left, bool any);
/* Why one trial stopped, given why its group did. */
enum stopped stop_reason(const struct alternation *, const struct series *, enum stopped);

#endif
