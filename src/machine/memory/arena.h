/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All memory of a trial (region.h): opened before it is prepared, unmapped at once after it. Knows
 * why the last thing asked of it could not be had.
 */
#ifndef LOCUS_ARENA_H
#define LOCUS_ARENA_H

struct arena;
struct machine;

/* NULL with errno. The machine has to outlive it. */
struct arena *arena_open(const struct machine *);
/* The same with the memory of the nodes as it is described in the folder `root` (base/sysfs.h). */
struct arena *arena_open_at(const char *root, const struct machine *);
void arena_close(struct arena *); /* NULL is fine */

/* In words; NULL: nothing was refused. */
const char *arena_refusal(const struct arena *);

/*
 * For prepare(): notes why a trial can't be had on this machine (its status is then `impossible`).
 * NULL, so that it can be returned; errno stays.
 */
void *cannot(struct arena *, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
