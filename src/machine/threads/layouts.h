/* SPDX-License-Identifier: Apache-2.0 */
/* Places threads by a layout: how many threads on each node. */
#ifndef LOCUS_LAYOUTS_H
#define LOCUS_LAYOUTS_H

#include <stdbool.h>

struct machine;
struct place;

/*
 * Places for a canonical layout ("8+0": threads on each node with CPUs, one number a node). Within
 * a node they follow `bind` ("close", "spread"); for a list of CPUs, close. -1 with *why.
 */
int machine_layout(const struct machine *, const char *layout, const char *bind, bool oversubscribe,
		   struct place *, const char **why);
unsigned layout_threads(const char *layout); /* 0: not a layout */

/*
 * The canonical layouts of a user's word, as benchmark.h defines them (P_LAYOUT); "8" is 8 threads
 * on the first node. They have `threads` threads; 0: as many as the word says. "all" and numbers
 * fix the number of threads, and another `threads` is an error. machine_layout() checks that they
 * fit. Returns one block, to be freed; NULL with *why, and errno as machine_bind().
 */
char **machine_layouts(const struct machine *, const char *word, unsigned threads, unsigned *n,
		       const char **why);

#endif
