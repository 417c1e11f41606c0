/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges of lines between two threads, one-way times, and the state of a core-to-core trial. */
#ifndef LOCUS_CORE_TO_CORE_H
#define LOCUS_CORE_TO_CORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/apart.h"
#include "kit/histogram.h"

/*
 * The ways in which two threads move cache lines between them, each a separate function, so that a
 * test can read its machine code. An even number of `turns` leaves the lines unchanged.
 */

/* The lines that two threads share, APART, with 64 used bytes each; zero at the start. */
enum { RING = 8 };
struct lines {
	struct line {
		_Alignas(APART) _Atomic uint64_t word;
		uint64_t payload[7];
	} line[RING];
	_Alignas(APART) _Atomic uint64_t taken;
};

/* Moves a line to the other side and back, `turns` times; side 0 begins. */
typedef void exchange(struct lines *, unsigned side, uint64_t turns);

/* One side changes a word from 0 to 1, the other from 1 to 0; each tries until it succeeds. */
exchange exchange_compare_exchange;
/* Each side reads the word until it is its turn, then stores. */
exchange exchange_store_load;
/* Each side stores to a line of its own and reads the other's. */
exchange exchange_two_lines;
/*
 * Side 0 writes 64 bytes of a line; side 1 reads them and reports its progress on another line, so
 * that at most RING lines are in flight. Sends 2 * turns lines, which must be a multiple of 2 *
 * RING.
 */
exchange exchange_message;

/* The stamps that a side has received. */
enum { STAMPS = 1024 };
struct stamps {
	_Alignas(APART) int64_t took[STAMPS]; /* ticks, of the last STAMPS of them */
	int64_t least;			      /* of all */
	uint64_t n;
};

/*
 * Each side in turn stores the ticks that it reads to its own line, and when it sees the other's
 * ticks, notes how far its own are ahead. Lines are left with even words.
 */
void exchange_stamps(struct lines *, unsigned side, uint64_t turns, struct stamps *);

/* ---- one-way times between two cores, from ticks that both read, whose skew is not known ---- */

/*
 * Adds the one-way times (ticks) of both directions to the histogram. `bound`: by up to so many
 * ticks all times of one direction may be too long, and all times of the other too short. side[i]
 * is what side i has received. False: nothing was received, or the two counters do not go at the
 * same rate.
 *
 * With the other counter s ticks ahead, a transfer of time t seems to take t + s one way and t - s
 * the other. No time is negative, so s is at most the least time of one direction, and at least the
 * negated least time of the other. The middle is taken, as if the fastest transfers of both
 * directions took equally long; half the interval is half of the fastest round trip.
 */
bool one_way_add(const struct stamps side[2], struct histogram *, double *bound);

/* Why no tick counter is known here that all CPUs share; NULL: there is one. */
const char *one_way_lacks(void);
/* As one_way_lacks(), for the machine whose /sys is below `root`. */
const char *one_way_lacks_at(const char *root);

/* The state of a core-to-core trial: separate lines for all pairs of a round, at each meeting. */
struct core_to_core {
	exchange *exchange;
	struct lines *lines;	   /* meetings * tables */
	unsigned meetings, tables; /* meetings of a pair; pairs that meet concurrently */
	unsigned round;		   /* rounds so far, of all batches */
	struct team *team;	   /* NULL in tests that play by hand */
	/* only for one-way, else NULL */
	struct stamps (*stamps)[2]; /* by pair and side */
	struct histogram *times;    /* ticks */
	double tick;		    /* s */
};

/*
 * Each pair of a round has its own lines, and other lines in the next round. Otherwise a pair would
 * have the same few lines in all batches, and the position of their home slices in the last cache
 * would look like the distance of its cores.
 */

static inline struct lines *core_to_core_lines(const struct core_to_core *c, unsigned meeting,
					       unsigned pair)
{
	return &c->lines[(size_t)meeting * c->tables + (pair + c->round) % c->tables];
}

#endif
