/* SPDX-License-Identifier: Apache-2.0 */
/* Where threads sit, by --bind. */
#ifndef LOCUS_PLACES_H
#define LOCUS_PLACES_H

#include <stdbool.h>

#include "machine/threads/team.h"

struct cpu;
struct machine;

/*
 * Places for n threads. bind: "close" (cores next to each other), "spread" (as far apart as can
 * be), each one thread a core as long as there are cores, then the siblings; "float": where threads
 * that are free to move begin, as close; or a list of CPUs, taken as it stands. Then
 * (oversubscribe) from the start again. -1 with *why, and errno: EINVAL where `bind` is none of
 * these, ENODEV where this machine has too few CPUs.
 */
int machine_bind(const struct machine *, const char *bind, unsigned n, bool oversubscribe,
		 struct place *, const char **why);

struct place place_of(const struct cpu *);

#endif
