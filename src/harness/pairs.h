/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers that meet two by two, each with each: in rounds of disjoint pairs, so that n workers have
 * met in n - 1 rounds (n, where n is odd), and what was measured of each pair, by the level of the
 * machine that the two have in common.
 */
#ifndef LOCUS_PAIRS_H
#define LOCUS_PAIRS_H

#include <jansson.h>

#include "benchmark.h"

unsigned pairs_rounds(unsigned players);
unsigned pairs_tables(unsigned players); /* of an odd number one sits alone at its table */
/*
 * The pair that plays at a table in a round, the lower number first. False: it is the one who sits
 * alone.
 */
bool pairs_at(unsigned players, unsigned round, unsigned table, unsigned *a, unsigned *b);

/* Of all pairs, what they took; and of some, what they took with nobody else at work. */
struct pairs;
struct pairs *pairs_open(const struct trial *); /* NULL with errno */
void pairs_close(struct pairs *);

/*
 * What pairs took since the last call: the mean over the pairs of each one's median. It belongs to
 * the machine, whatever a round's pairs share.
 */
double pairs_batch(struct pairs *);

/*
 * Meetings with nobody else at work, some of each level: 0 .. pairs_alone() - 1 are for these
 * pairs. 0 where no others could disturb.
 */
unsigned pairs_alone(const struct pairs *);
void pairs_alone_at(const struct pairs *, unsigned i, unsigned *round, unsigned *table);

/* Adds what a pair took, in s per unit; drops it when memory is out. */
void pairs_add(struct pairs *, unsigned a, unsigned b, double time, bool alone);

/*
 * `pairs` of the trial line (doc/schema/README.md); NULL before anything was added. Sorts what was
 * added.
 */
json_t *pairs_json(struct pairs *, const struct trial *);

#endif
