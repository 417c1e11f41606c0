/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which worker counts which event. Events of threads: every worker, its own. Events of packages:
 * once for each package of the host, by the first worker on it, however many workers and processes
 * share it. Events of a package without workers, and of the whole host (network): the host's first
 * worker.
 */
#ifndef LOCUS_DUTIES_H
#define LOCUS_DUTIES_H

#include "count/counters.h"

struct place;

/*
 * By event and worker of a team with these places: whether that worker counts it. The caller frees
 * it; NULL: ENOMEM. All processes of the host call it, each with its rank; most_host() replaces
 * each value by the largest of theirs (NULL: this is the only process).
 */
bool *duties_find(const struct counters *, const struct place *, unsigned threads, unsigned rank,
		  void (*most_host)(double *, size_t));

#endif
