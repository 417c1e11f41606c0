/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which events count at all. A zero may be true, or the counter may be dead: in virtual machines
 * and on emulated processors some events can be opened and always read 0. So each event is tried on
 * work that does a little of everything; an event that counts there is proven.
 */
#ifndef LOCUS_PROBE_H
#define LOCUS_PROBE_H

#include "count/station.h"

/* Tries the events of this pass, and sets event.proven of those that count more than 0. */
void probe_pass(struct station *, const struct pass *);

#endif
