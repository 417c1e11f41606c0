/* SPDX-License-Identifier: Apache-2.0 */
/* Places threads by --bind. */
#ifndef LOCUS_PLACES_H
#define LOCUS_PLACES_H

#include <stdbool.h>

#include "machine/threads/team.h"

struct cpu;
struct machine;

/*
 * Places for n threads. bind: "close" (neighbouring cores) or "spread" (as far apart as possible),
 * both with one thread a core first, on the fastest kind first, then SMT siblings; "float": as
 * close, but threads only start there and may then move; or a list of CPUs, in its order. With
 * `oversubscribe` CPUs are reused from the first one on. -1 with *why, and errno: EINVAL if `bind`
 * is none of these, ENODEV if the machine has too few CPUs.
 */
int machine_bind(const struct machine *, const char *bind, unsigned n, bool oversubscribe,
		 struct place *, const char **why);

struct place place_of(const struct cpu *);

#endif
