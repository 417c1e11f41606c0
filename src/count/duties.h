/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which worker counts which event. An event of threads: every worker, for itself. An event of
 * packages: on each package of the host the first worker, however many workers and processes share
 * it. Events of a package without workers, and of the whole host (network): the host's first
 * worker.
 */
#ifndef LOCUS_DUTIES_H
#define LOCUS_DUTIES_H

#include "count/counters.h"

struct place;

/*
 * Returns, by event and worker of a team with these places, whether that worker counts the event.
 * The caller frees it; NULL: ENOMEM. All processes of the host call it, each with its rank.
 * most_host() replaces each value of an array by the largest of all these processes; NULL: this is
 * the only one.
 */
bool *duties_find(const struct counters *, const struct place *, unsigned threads, unsigned rank,
		  void (*most_host)(double *, size_t));

#endif
