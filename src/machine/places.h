/* SPDX-License-Identifier: Apache-2.0 */
/* Where threads sit: by --bind, or by a layout (threads on each node). */
#ifndef LOCUS_PLACES_H
#define LOCUS_PLACES_H

#include <stdbool.h>

#include "machine/team.h"

struct machine;

/*
 * Places for n threads. bind: "close" (cores next to each other), "spread" (as far apart as can
 * be), each one thread a core as long as there are cores, then the siblings; or a list of CPUs,
 * taken as it stands. Then (oversubscribe) from the start again. -1 with *why, and errno: EINVAL
 * where `bind` is none of these, ENODEV where this machine has too few CPUs.
 */
int machine_bind(const struct machine *, const char *bind, unsigned n, bool oversubscribe,
		 struct place *, const char **why);

/*
 * Places for a canonical layout ("8+0": threads on each node with CPUs, as many numbers as there
 * are such nodes). On each node they are spread if that is what `bind` says, else close. -1 with
 * *why.
 */
int machine_layout(const struct machine *, const char *layout, const char *bind, bool oversubscribe,
		   struct place *, const char **why);
unsigned layout_threads(const char *layout); /* 0: not a layout */

/*
 * The canonical layouts that a user's word stands for, as benchmark.h defines them (LAYOUT); "8" is
 * 8 threads on the first node. They have `threads` threads; 0: as many as the word says. "all" and
 * numbers always say so, and it is an error if `threads` says otherwise. Whether they fit is
 * machine_layout()'s to say. One block, to be freed; NULL with *why, and errno as above.
 */
char **machine_layouts(const struct machine *, const char *word, unsigned threads, unsigned *n,
		       const char **why);

#endif
