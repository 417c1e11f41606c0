/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of earlier allocations of a group, held so that later ones get other page frames: the
 * kernel gives the frames that were freed last to whoever asks next. Where there is no room for
 * all, the oldest are given back.
 */
#ifndef LOCUS_HELD_H
#define LOCUS_HELD_H

#include <stddef.h>

struct arena;
struct series;

struct held {
	double room, bytes; /* bytes that may be held; that are */
	double each;	    /* larger allocations are not held */
	struct held_arena {
		struct series *series;
		struct arena *arena;
		double bytes;
	} *of; /* the oldest first */
	size_t n, most;
};

/*
 * Takes over the arena of an allocation that has ended, of so many bytes. A series whose memory is
 * given back is marked as one that may get it again.
 */
void held_keep(struct held *, struct series *, struct arena *, double bytes);
/* Gives all back. */
void held_free(struct held *);

#endif
