/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How trials are measured in turn: allocation after allocation of all of them, and in each, sweep
 * after sweep: a batch of every trial, in random order.
 */
#ifndef LOCUS_SWEEPS_H
#define LOCUS_SWEEPS_H

#include "harness/run/alternation.h"

/*
 * Measures until it is enough; returns the reason to stop. If touching memory takes too long, the
 * series that have none by then are cut off (alternation_cut()).
 */
enum stopped sweeps_measure(struct alternation *);

#endif
