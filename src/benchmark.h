/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A benchmark is a table: what can be varied, in which ways the work can be done, what is reported.
 * Everything a user sees of it - help, list, trials, records, docs - is made from these structures.
 *
 * The life of a trial, with who runs what:
 *
 *	prepare   worker 0     once an allocation: maps memory (region.h), claims where its pages are to lie; may run the team
 *	enter     each worker  once an allocation: first touch, starting position
 *	                       -- the node of every page is read back and held against the claim --
 *	reset     worker 0     before each sample; may run the team
 *	work      each worker  the sample: this alone is measured
 *	collect   worker 0     after each sample: metrics beyond time
 *	                       -- the node of every page is read back again --
 *	verify    worker 0     once an allocation: is the answer right? May run the team. (What is in the workers is another trial's by then.)
 *	release   worker 0     once an allocation; regions are unmapped by the harness
 *
 * A kernel (work) prints nothing, allocates nothing, asks no question about its variant, and reads no clock - but clock_ticks(), where a part of the work is
 * the result.
 */
#ifndef LOCUS_BENCHMARK_H
#define LOCUS_BENCHMARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/region.h"
#include "machine/team.h"

struct machine;

enum profile { QUICK, STANDARD, PAPER, PROFILES };

union value {
	uint64_t count;          /* COUNT; SIZE, in bytes; NODE, the number that the kernel gives it */
	double real;             /* REAL */
	unsigned choice;         /* CHOICE: index into choices */
	const char *text;        /* PATH; LAYOUT, in its canonical form: threads per node, "8+8" */
};

/*
 * One thing to vary. What a user may give is a list ("1,2,4"), a range ("16K..256M*2": from, to, factor; "0..64+8": step), or words (in
 * a PATH, a comma is "\,"); the trials of a run are the product of all lists. A profile without a value of its own takes the one before it.
 *
 * LAYOUT says where the threads of the trial are to be: "packed" (all on the first node), "split" (evenly over all nodes), "all" (a
 * thread on each core), "each" (a trial for each node with CPUs, packed there), "node:1" (packed on that node), "8+8". A trial has at
 * most one layout; without one its threads are bound by --bind. NODE says where memory is to be: numbers, "all", or "first"
 * (of those with memory).
 */
struct parameter {
	const char *name, *unit, *help;
	enum parameter_type { COUNT, SIZE, REAL, CHOICE, PATH, LAYOUT, NODE } type;
	const char *choices;               /* CHOICE: "loop,reverse" */
	const char *value[PROFILES];
	/* COUNT, SIZE: what the words "auto" and "all" stand for; NULL: no such word */
	uint64_t (*automatic)(const struct machine *, enum profile), (*all)(const struct machine *, enum profile);
	bool in_turn;                      /* its values make a curve: their trials are sampled in turn, so that drift does not bend it */
	bool aside;                        /* what is done with the answer: no part of a trial's identity, and, unless it is the default, of one trial only */
};

struct trial;

/* A number that a trial yields. Records hold base units (s, B, B/s, 1); tables and plots add the prefix. */
struct metric {
	const char *name, *unit, *help;
	enum better { LOWER_IS_BETTER, HIGHER_IS_BETTER, NEITHER } better;
	/* How much of the unit (less "/s") one unit of work moves: the metric is that over the time. NULL: collect() reports it. */
	double (*amount)(const struct trial *);
};

/* Of a message to or from a rank. */
struct piece {
	void *bytes;
	size_t size;
};

/* The processes that share a trial. Only worker 0 calls these; all ranks make the same calls, in the same order. */
struct ranks {
	unsigned rank, ranks;
	void (*sum)(int64_t *, size_t);    /* each value becomes its sum over the ranks */
	void (*most)(double *, size_t);    /* each value becomes the largest of the ranks' */
	/* The same over the ranks of this node; who shares it, and only they, have to call them alike. */
	void (*sum_here)(int64_t *, size_t);
	void (*most_here)(double *, size_t);
	double (*spent)(void);             /* s in these calls so far */
	/*
	 * Begins to send a piece to each other rank, and to take one from each, of at most in[rank].size bytes: both by rank, 2^31 - 1 bytes at most, of the
	 * rank itself nothing. finish() returns when all is there, and in[rank].size is what came; until then pieces and their bytes are not to be touched.
	 * Exchanges may overlap; all ranks begin them in the same order.
	 */
	void *(*begin)(const struct piece *out, struct piece *in);
	void (*finish)(void *exchange);
};

struct trial {
	const struct benchmark *benchmark;
	const struct variant *variant;
	const union value *value;          /* by the benchmark's own enum, in the order of its parameters */
	unsigned threads;
	const struct place *place;         /* by worker */
	bool oversubscribed;               /* more threads than the CPUs that they sit on */
	const struct machine *machine;
	uint64_t seed;                     /* for whatever a trial does at random: the same in each run, unless --seed */
	unsigned allocation;               /* 0, 1, ...: mixed into the seed where fresh memory should mean a fresh pattern */
	struct arena *arena;               /* NULL while trials are only planned */
	struct team *team;                 /* likewise */
	const struct ranks *ranks;         /* NULL: this process has it all */
};

enum bound {
	UNSAID,                            /* in a variant: as its benchmark */
	BY_COUNT,                          /* calibrated, unless count() fixes the work */
	BY_DEADLINE,                       /* until *stop: raised when the sample's time is up, or when all that are BY_COUNT are done;
	                                      unless count() fixes the work */
	TO_COMPLETION                      /* the work ends by itself: convergence, all messages processed */
};

/* A part that some of the workers play. The first `threads` workers not yet taken play it; 0: all that are left. */
struct role {
	const char *name;
	unsigned threads;
	enum bound bound;
};

struct result;                             /* filled by collect() */
void report(struct result *, unsigned metric, double value);
double elapsed(const struct result *);     /* s: wall time of the sample */
/* s of it in calls to other ranks: of the rank that has least, for what the others have beyond is waiting for the slowest. NAN: there are no ranks. */
double communicated(const struct result *);

#define LACKS(parameter) (UINT64_C(1) << (parameter))

/* Default values of a parameter that are other ones in some variant; NULL: the parameter's own. */
struct instead {
	unsigned parameter;
	const char *value[PROFILES];
};

struct variant {
	const char *name, *summary;
	const void *layout;                /* what makes this variant differ, where data can say it */
	uint64_t lacks;                    /* LACKS(A) | LACKS(B): parameters that mean nothing here, and are no part of its identity */
	/* NULL where there is nothing to do. All but work() run untimed. */
	void *(*prepare)(const struct trial *);              /* NULL with errno set on failure; cannot() says why in words */
	void (*enter)(void *, struct worker *);
	void (*reset)(void *);
	void (*work)(void *, struct worker *);
	void (*collect)(void *, const struct trial *, struct result *);
	const char *(*verify)(void *, const struct trial *); /* NULL when right, else what is wrong; valid until the next call */
	void (*release)(void *);
	const struct instead *instead;     /* ends with a row without values; NULL: none */
	/* What is other here than in the benchmark; NULL and 0: as there. */
	const char *threads;               /* default of --threads */
	double sample;                     /* s */
	enum bound bound;                  /* without roles */
	const struct role *roles;
	bool together;                     /* scored over the time in which all workers are at work */
	bool divided;                      /* can be divided over ranks: locus-mpi runs it, with `ranks` in the trial */
	/*
	 * Workers meet two by two, each with each, in rounds of disjoint pairs; so often in a batch as this says. NULL: all work at once.
	 * A worker's group is its pair, its role says which of the two it is; in rounds without it, work() is not called.
	 */
	unsigned (*meetings)(const struct trial *);
};

#define OF_VARIANTS (~0u)
#define OF_THREADS  (~1u)

/*
 * A number that two trials yield which differ in one thing: the time of the one over that of the other. They are sampled in turn, as far as
 * memory has room for both. OF_THREADS: the time with the fewest threads over that with each other number. Of a metric of which more is better it
 * is the other way round, so that more than 1 always speaks for `to`.
 */
struct ratio {
	const char *name, *help;
	unsigned parameter;                /* a CHOICE, or OF_VARIANTS, or OF_THREADS */
	const char *of, *to;               /* its values: "dense", "padded"; OF_THREADS: words for a list */
	const char *metric;                /* name of another number than the time; NULL: the time */
};

/*
 * What would explain the number: an event of `--counters default`, as PAPI, or perf::, name it; of several, parted by |, the first that can be counted
 * here. doc/methods.md says on which processors they lie.
 */
struct explained {
	const char *events, *what;
};

/* What counts are for each of: the unit itself, or what `amount` says one unit of work of all workers (and ranks) together consists of. */
struct per {
	const char *name;                  /* "line"; NULL: the unit */
	double (*amount)(const struct trial *);
};

/*
 * The time of a sample is the wall time from the first worker's start to the last one's end - or, where it is scored `together`, from the last
 * one's start to the first one's end; of pairs, the median of what each takes from when both are there. `time`, which every benchmark
 * reports, is that over the units that a worker did in it (the mean over the workers of the first role), in s per unit. Of a trial that is
 * divided over ranks, it is the longest of the ranks'.
 */
struct benchmark {
	const char *name, *summary, *protocol, *source;
	const char *unit;                  /* of a worker's count: "tick", "load", "message"; what all do together counts for each: "pass" */
	double sample;                     /* s: the sample to aim at; 1e-3 where interference only adds, more for throughput */
	double quantile;                   /* of the samples, that is reported: 0.5 the median; less where interference only adds */
	/* What a profile fixes, where samples are to be as long and as many as published; 0: as above, and until the result is known. */
	struct {
		double sample;             /* s */
		unsigned repeats;          /* samples of a trial */
	} fixed[PROFILES];
	enum bound bound;                  /* without roles */
	const struct role *roles;          /* NULL: all workers alike; ends with a role without a name */
	const char *chosen[PROFILES];      /* default of --variant; NULL: all; over ranks, all that can be divided */
	const char *threads[PROFILES];     /* default of --threads; NULL: as many as a node has cores, with a layout; else one a core */
	unsigned weight;                   /* share of a suite's time, relative to the others' */
	bool internal;                     /* for tests: not in `list` nor in the suite */
	const struct parameter *parameters;
	const struct metric *metrics;      /* beyond time */
	const struct ratio *ratios;        /* of trials; NULL: none; ends with a row without a name */
	const struct explained *counters;  /* the default set; ends with a row without events */
	struct per per;                    /* ... for each of these */
	bool time_first;                   /* time is the headline of tables and plots; else the first metric is */
	const struct variant *variants;
	/*
	 * While trials are planned, before all else: fills in values that follow from others (also the one behind the last parameter, which is the
	 * benchmark's own: the rows of its file; it is no part of the identity, but ranks have to find the same), so that equal trials have one identity. `given`: those that the user gave, as LACKS(A) | LACKS(B). A text is replaced by
	 * another that can be freed. NULL, or what is wrong with the command line; valid until the next call.
	 */
	const char *(*settle)(const struct trial *, union value *, uint64_t given);
	bool (*applies)(const struct trial *, const char **why_not);     /* NULL: always */
	uint64_t (*count)(const struct trial *, unsigned worker);        /* units that a worker is to do; NULL or 0: calibrated */
	size_t (*footprint)(const struct trial *);                       /* bytes that a trial maps, of ranks the one with most; NULL: next to none */
	uint64_t (*warm)(const struct trial *);                          /* units before an allocation is as warm as it stays; NULL: a sample is enough */
	bool (*alone)(const struct trial *);                             /* sampled in turn with others, it would find its caches taken; NULL: never */
};

#endif
