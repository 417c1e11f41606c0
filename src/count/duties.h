/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which worker counts which event. Each counts for itself what belongs to a thread. What belongs to
 * a package is counted once for each package of a node, however many workers and processes sit on
 * it: by the first worker on it. Where nobody sits on the package that an event names, and for what
 * belongs to the whole node (network), it is the node's first worker.
 */
#ifndef LOCUS_DUTIES_H
#define LOCUS_DUTIES_H

#include "count/counters.h"

struct place;

/*
 * By event and worker, whether it is that worker's to count, of a team with these places; to be
 * freed. Where several processes share the node, all of them call it with their ranks, and
 * most_here() makes each value the largest of theirs; NULL: there is only this one. NULL: ENOMEM.
 */
bool *duties_find(const struct counters *, const struct place *, unsigned threads, unsigned rank,
		  void (*most_here)(double *, size_t));

#endif
