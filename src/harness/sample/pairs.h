/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What pairs of workers took (IN_PAIRS): all pairs while the others of their round meet too, and
 * some with nobody else at work.
 */
#ifndef LOCUS_PAIRS_H
#define LOCUS_PAIRS_H

#include "benchmark.h"
#include "machine/topology/level.h"

/* So many pairs of each level are measured alone as well. */
enum { PAIRS_ALONE = 2, PAIRS_MOST_ALONE = PAIRS_ALONE * LEVELS };

/* s per unit, of each meeting of a pair */
struct meetings {
	double *time;
	size_t n, room;
	size_t before; /* of these, those before the batch at hand */
};

struct pairs {
	unsigned players;
	struct meetings *met; /* by pair_number() */
	unsigned char *level; /* likewise: enum level, of what the two have in common */
	/* pairs that are measured alone; 0 where no others could disturb */
	unsigned alone;
	unsigned alone_round[PAIRS_MOST_ALONE], alone_slot[PAIRS_MOST_ALONE];
	struct meetings met_alone[PAIRS_MOST_ALONE];
};

struct pairs *pairs_open(const struct trial *); /* NULL with errno */
void pairs_close(struct pairs *);

/* Of the pairs a < b, row by row. */
size_t pair_number(const struct pairs *, unsigned a, unsigned b);
size_t pair_count(const struct pairs *);

/* Adds what a pair took; drops it when memory is out. */
void pairs_add(struct pairs *, unsigned a, unsigned b, double time, bool alone);
void meetings_add(struct meetings *, double time); /* the same */

/*
 * Since the last call: the mean over the pairs of each one's median. A number of the whole machine,
 * whatever the pairs of a round share.
 */
double pairs_batch(struct pairs *);

#endif
