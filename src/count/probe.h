/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which events count here at all. A zero may be true, or the counter may not count: some can be
 * opened and always read 0, in virtual machines and of emulated processors. So each event is tried
 * on a piece of work that does a little of everything; what then counted something is proven.
 */
#ifndef LOCUS_PROBE_H
#define LOCUS_PROBE_H

#include "count/station.h"

/* Sets event.proven of the events of this pass. What can't be started just now is not proven. */
void probe(struct station *, const struct pass *);

#endif
