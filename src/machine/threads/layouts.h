/* SPDX-License-Identifier: Apache-2.0 */
/* Where threads sit, by a layout: threads on each node. */
#ifndef LOCUS_LAYOUTS_H
#define LOCUS_LAYOUTS_H

#include <stdbool.h>

struct machine;
struct place;

/*
 * Places for a canonical layout ("8+0": threads on each node with CPUs, as many numbers as there
 * are such nodes). On each node they are spread if that is what `bind` says, else close. -1 with
 * *why.
 */
int machine_layout(const struct machine *, const char *layout, const char *bind, bool oversubscribe,
		   struct place *, const char **why);
unsigned layout_threads(const char *layout); /* 0: not a layout */

/*
 * The canonical layouts that a user's word stands for, as benchmark.h defines them (P_LAYOUT); "8"
 * is 8 threads on the first node. They have `threads` threads; 0: as many as the word says. "all"
 * and numbers always say so, and it is an error if `threads` says otherwise. Whether they fit is
 * machine_layout()'s to say. One block, to be freed; NULL with *why, and errno as machine_bind().
 */
char **machine_layouts(const struct machine *, const char *word, unsigned threads, unsigned *n,
		       const char **why);

#endif
