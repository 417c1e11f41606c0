/* SPDX-License-Identifier: Apache-2.0 */
/* Places threads: by --bind, or by a layout, which says how many threads sit on each node. */
#ifndef LOCUS_PLACES_H
#define LOCUS_PLACES_H

#include <stdbool.h>

#include "machine/threads/team.h"

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

/*
 * Places for a canonical layout ("8+0": threads on each node with CPUs, one number a node). Within
 * a node they follow `bind` ("close", "spread"); for a list of CPUs, close. -1 with *why.
 */
int machine_layout(const struct machine *, const char *layout, const char *bind, bool oversubscribe,
		   struct place *, const char **why);
unsigned machine_layout_threads(const char *layout); /* 0: not a layout */

/*
 * The canonical layouts of a user's word, as benchmark.h defines them (P_LAYOUT); "8" is 8 threads
 * on the first node. They have `threads` threads; 0: as many as the word says. "all" and numbers
 * fix the number of threads, and another `threads` is an error. machine_layout() checks that they
 * fit. Returns one block, to be freed; NULL with *why, and errno as machine_bind().
 */
char **machine_layouts(const struct machine *, const char *word, unsigned threads, unsigned *n,
		       const char **why);

#endif
