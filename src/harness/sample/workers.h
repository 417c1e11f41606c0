/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts in a trial: its functions, the workers' roles, what ends their work; and, if workers
 * meet in pairs (IN_PAIRS), who meets whom, and how long that takes.
 */
#ifndef LOCUS_WORKERS_H
#define LOCUS_WORKERS_H

#include "benchmark.h"
#include "harness/plan/plan.h"
#include "machine/topology/topology.h"

/* What the main thread does for a trial while it is away from the books (watchdog.h). */
#define TRIAL_PREPARING "preparing"
#define TRIAL_MEASURING "measuring"
#define TRIAL_VERIFYING "checking"

const struct ops *roles_ops(const struct trial *);
unsigned roles_count(const struct trial *);
const char *roles_name(const struct trial *, unsigned number);
/* The role that a worker plays; they are filled in order. */
unsigned roles_number(const struct trial *, unsigned worker);
/* The number of workers of the first role: their units count, and their end ends the sample. */
unsigned roles_leading(const struct trial *);
/* The end of a role's work. With a single role, fixed units end it instead of a deadline. */
enum until roles_until(const struct planned *, unsigned number);

/*
 * The times of pairs of workers: all pairs, measured while the other pairs of their round meet; and
 * some pairs, measured alone.
 */

/* So many pairs of each level are also measured alone. */
enum { PAIRS_ALONE = 2, PAIRS_MOST_ALONE = PAIRS_ALONE * LEVELS };

/* s per unit, of each meeting of a pair */
struct meetings {
	double *time;
	size_t n, room;
	size_t before; /* how many of the n came before the current batch */
};

struct pairs {
	unsigned players;
	struct meetings *met; /* by pair_number() */
	unsigned char *level; /* by pair: enum level, the closest that the two share */
	/* number of pairs that are measured alone; 0 if no others could disturb them */
	unsigned alone;
	unsigned alone_round[PAIRS_MOST_ALONE], alone_slot[PAIRS_MOST_ALONE];
	struct meetings met_alone[PAIRS_MOST_ALONE];
};

struct pairs *pairs_open(const struct trial *); /* NULL with errno */
void pairs_close(struct pairs *);

/* The number of pair a < b, counted row by row. */
size_t pair_number(const struct pairs *, unsigned a, unsigned b);
size_t pair_count(const struct pairs *);

/* Adds a pair's time; drops it if there is no memory. */
void pairs_add(struct pairs *, unsigned a, unsigned b, double time, bool alone);
void meetings_add(struct meetings *, double time); /* likewise */

/*
 * The mean over the pairs of each pair's median since the last call: one result for the whole
 * machine, which does not depend on which pairs meet in a round.
 */
double pairs_batch(struct pairs *);

#endif
