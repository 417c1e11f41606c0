/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trials of a run: for each benchmark the product of all lists. Each trial has its identity and
 * its places; trials that are compared form groups, which are sampled in turn.
 */
#ifndef LOCUS_PLAN_H
#define LOCUS_PLAN_H

#include <jansson.h>
#include <stdio.h>

#include "benchmark.h"
#include "harness/ask/options.h"
#include "machine/limits/limits.h"
#include "machine/provenance/provenance.h"
#include "machine/threads/affinity.h"

/* ---- what trials are planned for: the machine, and the part of it that this run may use ---- */

struct setting {
	const struct machine *machine;
	const struct affinity *affinity; /* NULL on a described machine */
	struct memory_limit memory;
	struct conditions conditions; /* when the run began; none on a described machine */
	const struct ranks *ranks;    /* NULL: trials are not divided over ranks */
	unsigned host_ranks;	      /* ranks on this host; 0 and 1: this one alone */
	/* bytes that a trial may map on any rank; 0: all available bytes */
	double most;
	/* bytes that trials sampled in turn may hold together; 0: plan_room() */
	double room;
	/* why trials need --oversubscribe: ranks share CPUs; NULL: they don't */
	char *crowd;
};

/*
 * Finds the machine (this one, or the one of --topology), and the CPUs and memory that this run may
 * use. Returns 0, or the status to exit with after a message. To be freed in any case.
 */
int setting_find(struct setting *, const struct options *, const struct ranks *);
/* Finds what the ranks of a host share: memory, and CPUs unless each has its own. On all ranks. */
void setting_share(struct setting *);
void setting_free(struct setting *);

/* ---- a trial that is planned ---- */

struct planned {
	struct trial trial; /* values, places and texts are owned by the plan */
	char *identity;
	/* hash of its identity; kin: equal for trials that are to be sampled in turn */
	uint64_t hash, kin;
	char id[17]; /* the hash as hex digits */
	/* "numa/static kernel=sum pages=base": what varies, for tables and progress */
	char name[128];
	/* "inherited", "close", "spread", "float" or a list; "layout": close, as its layout says */
	const char *bind;
	int *cpu; /* the CPUs that its threads sit on, or float over, each once */
	unsigned cpus;
	struct needs needs;
	double sample;	  /* s: target length of a sample */
	unsigned repeats; /* samples of it; 0: until the result is known */
	char *refusal;	  /* why it is impossible here; NULL: it is possible */
	char *kinds; /* its cores, if some are faster than others (kinds_text()); NULL: none are */
	/* sentences for readers of its result: how its input was read, that cores are slow */
	json_t *notes;
	unsigned group;
	unsigned region; /* the index of its LIKWID region, if it has one */
	double scatter; /* scatter of its time, after measurement (estimates_scatter); 0: not yet */
	bool done;	/* found complete in the file that is resumed */
	bool again;	/* complete, but to be measured again with its group */
};

struct plan {
	const struct benchmark *benchmark;
	struct planned *trial;
	unsigned trials, groups;
	unsigned threads;	 /* the most that a trial needs */
	unsigned refused;	 /* combinations that were left out as pointless */
	const char *why_refused; /* the reason of the first */
	const char *left_out;	 /* why variants were left out on this machine; NULL: none */
	json_t *ids;		 /* ids of the trials: {id: true} */
	/* by path of each input file: its hash; how it is read, if that was a guess */
	json_t *contents, *guesses;
};

/* ---- the plan of one benchmark ---- */

/*
 * Plans a benchmark. A trial that is impossible on this machine is planned, with its refusal.
 * Returns 0, or the status to exit with after a message.
 */
int plan_make(struct plan *, const struct benchmark *, const struct options *,
	      const struct setting *);
void plan_free(struct plan *);

/* The value of --bind for so many threads: the user's, or the default. */
const char *plan_bind(const struct options *, const struct affinity *, unsigned threads);

/* The differences between a plan's trials: for their names, and for the columns of tables. */
struct varying {
	bool parameter[MOST_PARAMETERS], variant, threads;
};

struct varying varying_find(const struct plan *);

/* ---- groups of trials that are sampled in turn ---- */

/*
 * Groups trials that are compared, as many as memory holds. Trials of a group become neighbours;
 * otherwise the order stays. To be called again after refusals, or when the room has changed.
 */
void plan_group(struct plan *, const struct setting *);

/*
 * Bytes that a group may map: no more than the node with the least memory has, since all of it may
 * have to lie there.
 */
double plan_room(const struct setting *);
/*
 * Bytes of earlier allocations that may be held beside a group of so many bytes: at most a quarter
 * of the room, and no more than the group leaves.
 */
double plan_quarantine_room(const struct setting *, double bytes);
/*
 * Bytes of the largest allocation that is worth holding: one that is larger than the last cache has
 * lines in all of its sets, whichever frames it gets. INFINITY where that cache is unknown.
 */
double plan_quarantine_each(const struct setting *);

/* ---- the plans of a run, one for each benchmark that has trials ---- */

struct plans {
	struct plan *plan;
	unsigned plans, trials;
};

/*
 * Plans options->benchmark, or every row of the table. Returns 0, or the status to exit with after
 * a message.
 */
int plans_make(struct plans *, const struct benchmark *const *table, const struct options *,
	       const struct setting *);
void plans_free(struct plans *);
/*
 * Ranks run in lockstep, so they need the same trials and the same groups. Different machines may
 * plan different trials: this ends the run. A trial that one rank refuses is refused on all, and
 * the rank with the least room limits the groups. Returns 0, or the status to exit with after a
 * message.
 */
int plans_agree(struct plans *, struct setting *);

/* The n-th trial, counted over all plans; NULL after the last. */
struct planned *plans_trial(const struct plans *, unsigned n);
/* The largest number of threads of a trial, at least one. */
unsigned plans_threads(const struct plans *);
/*
 * Prints all plans, as --dry-run does: in short, or `all` trials, with their places and memory.
 * `seconds`: the time that they would take; NAN leaves it out.
 */
void plans_print(const struct plans *, const struct setting *, double seconds, bool all, FILE *);
/* Prints the plan of one benchmark. */
void plan_print(const struct plan *, const struct setting *, double seconds, FILE *);

/* ---- how long and how often a run measures, as the user says, or else as its profile does ---- */

double effort_time(const struct options *); /* s, of the whole command; 0: no bound */
double effort_case(const struct options *); /* s, of one trial; 0: no bound */
/* A trial has converged if its interval reaches at most this share of the value. */
double effort_within(const struct options *);
/* The number of allocations for a trial of so many seconds: a number that statistics_is_look(). */
unsigned effort_allocations(double seconds);
/* The most allocations that a trial of so many repeats (0: until its result is known) may have. */
unsigned effort_most_allocations(unsigned repeats);
/* s that the run will take: the time budget, or the sum over its trials. */
double plans_seconds(const struct plans *, const struct options *);
/*
 * How exact plans_seconds() is: "at most" with a time budget; "at least" if the length of some
 * samples is not known; else "about".
 */
const char *plans_bound(const struct plans *, const struct options *);

/* ---- the order in which workers meet in pairs ---- */

/*
 * In a tournament each player meets each other once, in rounds of disjoint pairs: n - 1 rounds, n
 * where n is odd. A round has a slot for each of its pairs.
 */
unsigned tournament_rounds(unsigned players);
/* If the number of players is odd, one slot holds a single player. */
unsigned tournament_slots(unsigned players);
/* The pair in a slot of a round, the lower number in *a. False: *a is the player who is alone. */
bool tournament_pair(unsigned players, unsigned round, unsigned slot, unsigned *a, unsigned *b);
/* Whom a player meets in a round, and in which slot. False: it sits out. */
bool tournament_partner(unsigned players, unsigned round, unsigned player, unsigned *partner,
			unsigned *slot);
/*
 * s that a tournament of pairs takes: in each turn a sample and the time to call the workers, which
 * is a guess: 20 us and 2 us a worker. 0: the trial has no tournament.
 */
double plan_tournament(const struct planned *);

#endif
