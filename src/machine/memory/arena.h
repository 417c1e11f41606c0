/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All memory of a trial (region.h): opened before the trial is prepared, and unmapped as a whole
 * after it. Keeps the reason of the last refusal.
 */
#ifndef LOCUS_ARENA_H
#define LOCUS_ARENA_H

#include <stddef.h>

struct arena;
struct machine;

/* NULL with errno. The machine has to outlive it. */
struct arena *arena_open(const struct machine *);
/* The same, with the nodes' memory read below the folder `root` (base/sysfs.h). */
struct arena *arena_open_at(const char *root, const struct machine *);
void arena_close(struct arena *); /* NULL is fine */
/* Keeps the pages, but nothing may read or write them any more. */
void arena_shut(const struct arena *);

/* Bytes asked for over all regions, before they are rounded up to whole pages. */
size_t arena_asked(const struct arena *);

/* The reason of the last refusal, in words; NULL: nothing was refused. */
const char *arena_refusal(const struct arena *);

/*
 * For prepare(): notes why a trial is impossible on this machine (its status is then `impossible`).
 * Returns NULL, for the caller to return; keeps errno.
 */
void *arena_cannot(struct arena *, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
