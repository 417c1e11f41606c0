/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All memory of a trial (region.h): opened before the trial is prepared, and unmapped as a whole
 * after it. Keeps the reason of the last refusal.
 */
#ifndef LOCUS_ARENA_H
#define LOCUS_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct arena;
struct machine;

/* NULL with errno. The machine has to outlive it. */
struct arena *arena_open(const struct machine *);
/* As arena_open(), with the nodes' memory read below the folder `root` (base/sysfs.h). */
struct arena *arena_open_at(const char *root, const struct machine *);
void arena_close(struct arena *); /* NULL is fine */
/* Keeps the pages, but nothing may read or write them any more. */
void arena_shut(const struct arena *);

/* Bytes requested over all regions, before they are rounded up to whole pages. */
size_t arena_asked(const struct arena *);

/* The reason of the last refusal, in words; NULL: nothing was refused. */
const char *arena_refusal(const struct arena *);

/*
 * For prepare(): notes why a trial is impossible on this machine (its status is then `impossible`).
 * Returns NULL, for the caller to return; keeps errno.
 */
void *arena_cannot(struct arena *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Whether the nodes have room for the memory that is claimed for them or bound to them, by what was
 * available when the arena was opened. To be asked before the first touch: without room, bound
 * memory would get the process killed, and first touch would fall back to another node.
 */

/*
 * Sets `need` to two numbers of bytes for each of the machine's nodes, for first touch and for
 * binding policies; the ranks of a host add them up. Reserved huge pages are not included.
 */
void arena_need(const struct arena *, int64_t *need);
/* Whether there is room for such a need. -1 with errno ENOMEM and arena_refusal(). */
int arena_room(struct arena *, const int64_t *need);
/*
 * arena_need() and arena_room(), for memory that only this process touches while a trial is
 * prepared.
 */
int arena_has_room(struct arena *);

#endif
