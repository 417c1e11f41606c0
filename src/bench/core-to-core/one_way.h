/* SPDX-License-Identifier: Apache-2.0 */
/* One-way times between two cores, from ticks that both read, whose skew is not known. */
#ifndef LOCUS_ONE_WAY_H
#define LOCUS_ONE_WAY_H

#include <stdbool.h>

#include "bench/core-to-core/exchange.h"
#include "kit/histogram.h"

/*
 * Adds the one-way times (ticks) of both directions to the histogram, and says by how many ticks
 * all of a direction may be too long, and those of the other too short. side[i] is what side i has
 * received. False: nothing was received, or the two counters do not go at the same rate.
 *
 * With the other counter s ticks ahead, a transfer of time t seems to take t + s one way and t - s
 * the other. No time is negative, so s is between the least of one direction and that of the other,
 * negated: what is reported takes it from the middle, as if the fastest transfers of both
 * directions took equally long. Half that interval is half of the fastest round trip.
 */
bool one_way_add(const struct stamps side[2], struct histogram *, double *bound);

/* Why no tick counter is known here that all CPUs share; NULL: there is one. */
const char *one_way_lacks(void);
/* The same, of the machine whose /sys is below `root`. */
const char *one_way_lacks_at(const char *root);

#endif
