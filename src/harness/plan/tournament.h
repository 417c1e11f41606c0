/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tournament in which each player meets each other once, in rounds of disjoint pairs: n - 1
 * rounds, n where n is odd. A round has a slot for each of its pairs.
 */
#ifndef LOCUS_TOURNAMENT_H
#define LOCUS_TOURNAMENT_H

#include <stdbool.h>

unsigned tournament_rounds(unsigned players);
/* Of an odd number of players, one slot holds one player alone. */
unsigned tournament_slots(unsigned players);
/* The pair in a slot of a round, the lower number in *a. False: the player who is alone. */
bool tournament_pair(unsigned players, unsigned round, unsigned slot, unsigned *a, unsigned *b);

#endif
