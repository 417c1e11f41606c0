/* SPDX-License-Identifier: Apache-2.0 */
/* Indices of the parameters, and their choices. */
#ifndef LOCUS_ACTORS_PARAMETERS_H
#define LOCUS_ACTORS_PARAMETERS_H

enum {
	ACTORS,
	STATE,
	WORDS,
	BODY,
	ENTRIES,
	ACTIVE,
	IN_FLIGHT,
	TO,
	BATCH,
	ORDER,
	HOME,
	MESSAGES,
	EVERY,
	RATE,
};
enum { BODY_WALK, BODY_REAL };
#define BODY_CHOICES "walk,real"
enum { TO_SELF, TO_RANDOM };
#define TO_CHOICES "self,random"
enum { ORDER_OLDEST, ORDER_NEWEST };
#define ORDER_CHOICES "oldest,newest"
enum { HOME_OWN, HOME_FIRST, HOME_INTERLEAVE };
#define HOME_CHOICES "own,first,interleave"

#endif
