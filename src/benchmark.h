/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract: what an author of a benchmark writes. A benchmark is a table of what can be varied,
 * in which ways the work can be done, and what is reported. Help, list, trials, records and docs
 * are made from it.
 *
 * The life of a trial, and who runs what:
 *
 *	prepare   worker 0     once an allocation: maps memory and claims where its pages are to
 *                lie; may run the team
 *	enter     each worker  once an allocation: first touch, starting position
 *	                       -- the node of every page is read back and compared with the claim --
 *	reset     worker 0     before each sample; may run the team
 *	work      each worker  the sample: this alone is timed
 *	collect   worker 0     after each sample: metrics beyond time
 *	                       -- the node of every page is read back again --
 *	verify    worker 0     once an allocation: is the answer right? May run the team. Workers
 *                then hold another trial's numbers.
 *	release   worker 0     once an allocation; the harness unmaps the regions
 *
 * A kernel (work) does not print, allocate, ask which variant it is, or read a clock. Exception:
 * clock_ticks(), where the time of a part of the work is the result.
 */
#ifndef LOCUS_BENCHMARK_H
#define LOCUS_BENCHMARK_H

#include "trial.h"

enum profile { QUICK, STANDARD, PAPER, PROFILES };

/*
 * Something a user can vary: --NAME=LIST. The trials of a run are the product of all lists. A list
 * is "1,2,4", a range "16K..256M*2" (from, to, factor) or "0..64+8" (step), or words; in a P_PATH a
 * comma is "\,". A profile without a value takes that of the profile before it.
 *
 * P_LAYOUT says on which nodes the threads of a trial sit:
 *	packed   all on one node: the one with most cores, the first of several
 *	split    as many as packed, as evenly over the nodes as they fit: a free core first, then a
 *	         free CPU
 *	all      one on each core of the machine
 *	node:1   all on that node
 *	each     a trial for each node with CPUs, as node:N
 *	8+8      threads on each node with CPUs
 * Unless --threads says otherwise, packed and node:1 have one on each core of that node. Words that
 * come to the same layout make one trial. A trial has at most one layout; without one its threads
 * are bound by --bind. With one, a list of --bind restricts the CPUs, and close or spread says how
 * threads sit within a node.
 *
 * P_NODE says where memory is to be: numbers, "all", or "first" (of those with memory).
 */
struct parameter {
	const char *name, *unit, *help;
	enum parameter_type {
		P_COUNT,
		P_SIZE,
		P_REAL,
		P_CHOICE,
		P_PATH,
		P_LAYOUT,
		P_NODE,
		/*
		 * a count that settle() finds: no option, no part of the identity; ranks must agree
		 * on it
		 */
		P_FOUND,
	} type;
	const char *choices; /* P_CHOICE: "loop,reverse" */
	const char *value[PROFILES];
	/* P_COUNT, P_SIZE: what the words "auto" and "all" stand for; NULL: no such word */
	uint64_t (*automatic)(const struct machine *, enum profile),
		(*all)(const struct machine *, enum profile);
	/* an x axis: trials of its values are sampled in turn, so that drift does not bend it */
	bool curve;
	/* where the answer goes: no part of the identity; can be given for a single trial only */
	bool output;
	/*
	 * P_PATH: whether the value names a file to read, given all values after settle(). Then the
	 * identity has the file's contents, not its path. NULL: never
	 */
	bool (*input)(const union value *);
	/* shown for 0 where that has a meaning of its own: "auto"; NULL: 0 */
	const char *zero;
};

/* Stand for a parameter where one is named: the variant, the number of threads. */
#define P_VARIANT      (~0u)
#define P_THREADS      (~1u)
#define BIT(parameter) (UINT64_C(1) << (parameter))

/*
 * A number that a trial yields, in base units (s, B, B/s, 1). The first is the headline of tables
 * and plots.
 */
struct metric {
	const char *name, *unit, *help;
	enum better { LOWER_IS_BETTER, HIGHER_IS_BETTER, NEITHER_IS_BETTER } better;
	/*
	 * The value is this over the time: what one unit of work comes to, in the metric's unit
	 * without "/s". NULL: collect() reports the value.
	 */
	double (*amount)(const struct trial *);
	/* What collect() reports it as, and what its value in a sample is then. */
	enum metric_kind {
		M_VALUE,	/* report(): the number itself */
		M_FAIRNESS,	/* report_by_worker(): the least over the most */
		M_IMBALANCE,	/* report_by_worker(): the most over the mean */
		M_DISTRIBUTION, /* report_distribution(): the median; the record has quantiles */
	} kind;
};
/* Every benchmark has this row: wall time over the units that a worker did. */
#define TIME_METRIC(UNIT)                                                                 \
	{ "time", "s/" UNIT, "wall time of a sample for each " UNIT " that a worker did", \
	  LOWER_IS_BETTER, NULL }
/* Units of all threads together, where a unit is the work of one. */
#define THROUGHPUT_METRIC(UNIT)                                                        \
	{ "throughput", UNIT "/s", UNIT "s of all threads together", HIGHER_IS_BETTER, \
	  threads_together }
static inline double threads_together(const struct trial *t)
{
	return t->threads;
}

/*
 * A number of two trials that differ in one thing: the time (or another metric) of the one over
 * that of the other. They are sampled in turn, as far as memory has room for both. More than 1
 * always speaks for `to`: where more of a metric is better the quotient is turned over. P_THREADS:
 * the fewest threads over each other number.
 */
struct ratio {
	const char *name, *help;
	unsigned parameter; /* a P_CHOICE, P_VARIANT or P_THREADS */
	/* its values, "dense" and "padded"; P_THREADS: words for a list */
	const char *of, *to;
	const char *metric; /* NULL: the time */
};

/*
 * An event of `--counters default` that would explain the number, as PAPI or perf:: name it; of
 * several, parted by |, the first that can be counted.
 */
struct explained {
	const char *events, *what;
};

/* What happens in a trial. NULL where there is nothing to do. */
struct ops {
	/* the state; NULL with errno on failure; arena_cannot() says why in words */
	void *(*prepare)(const struct trial *);
	void (*enter)(void *, struct worker *);
	void (*reset)(void *);
	void (*work)(void *, struct worker *);
	void (*collect)(void *, const struct trial *, struct result *);
	/* NULL: right; else what is wrong, valid until the next call */
	const char *(*verify)(void *, const struct trial *);
	void (*release)(void *);
};

/*
 * Workers with a job of their own. Roles are filled in order; the first role's units are the
 * benchmark's.
 */
struct role {
	const char *name;
	unsigned (*workers)(const struct trial *); /* NULL: all that are left */
	enum until {
		BY_COUNT, /* calibrated, unless needs.units fixes the work */
		/*
		 * until *stop: raised when the time of the sample is up, or all that are BY_COUNT
		 * are done
		 */
		BY_DEADLINE,
		TO_COMPLETION, /* the work ends by itself */
	} until;
};
static inline unsigned one_worker(const struct trial *t)
{
	(void)t;
	return 1;
}

/*
 * Defaults of a parameter, or of P_THREADS, that a variant overrides. A profile without a value
 * takes that of the profile before it.
 */
struct override {
	unsigned parameter;
	const char *value[PROFILES];
};

/* One way of doing the work: a row of plain data. */
struct variant {
	const char *name, *summary;
	const void *data; /* what differs, where data can say it */
	/* BIT(A) | BIT(B): parameters that mean nothing here, and are no part of its identity */
	uint64_t unused;
	const struct override *defaults; /* ends with a row without values; NULL: none */
	const struct ops *ops;		 /* NULL: the benchmark's */
	const struct role *roles;	 /* NULL: the benchmark's */
	bool divided;			 /* can be divided over ranks: locus-mpi runs it */
	/*
	 * Differs from the others only where memory has several nodes: on a machine with one it is
	 * left out, unless asked for by name or by a parameter that only such variants have. Only
	 * numa sets it; without it a suite would measure six of its variants for nothing there.
	 */
	bool several_nodes;
	/*
	 * What is missing here, such as a library: the variant is impossible then. NULL: nothing is
	 * missing; the same if there is no function.
	 */
	const char *(*available)(void);
};

/* What a trial takes; 0 and NULL: nothing special. */
struct needs {
	const char *pointless; /* why this combination makes no sense: it is left out */
	size_t bytes;	       /* mapped; over ranks, by the rank that maps most */
	/* of a sample, of all workers of the first role; 0: as many as it has time for */
	uint64_t units;
	/* units before an allocation is as warm as it stays; 0: a sample is enough */
	uint64_t warm;
	/* not sampled in turn with others, which would take the caches from it */
	bool alone;
	unsigned meetings; /* IN_PAIRS: of each pair, in a batch */
};

/*
 * How long a sample takes. `time` is that over the units of a worker of the first role, on average.
 */
enum scored {
	SPAN, /* from the first worker's start to the last one's end */
	/* from the last one's start to the first one's end: work() sets worker.together */
	TOGETHER,
	/*
	 * Workers meet two by two, each with each, in rounds of disjoint pairs: the median of what
	 * each pair takes once both are there. A worker's group is its pair, its role which of the
	 * two it is; in rounds without it, work() is not called.
	 */
	IN_PAIRS,
};

/* What a profile sets. NULL and 0: as the profile before. */
struct preset {
	const char *variants; /* NULL: all; over ranks, all that can be divided */
	/* NULL: as many as the layout says; without a layout, one a core */
	const char *threads;
	/* s: the sample to aim at; 1e-3 where interference only adds, more for throughput */
	double sample;
	unsigned repeats; /* samples of a trial; 0: until the result is known */
};

struct benchmark {
	const char *name, *summary;
	struct {
		/* from 1; raised when new numbers can't be compared with those before */
		unsigned version;
		const char *text;
		const char *source; /* publications it goes back to; NULL: none */
		enum scored scored;
	} protocol;
	/* What a worker counts ("tick", "load", "message"), or all do together ("pass"). */
	struct {
		const char *name;
		bool cycles; /* it is an access: tables show its time in core cycles, too */
		/*
		 * Counters are divided by parts, "line", of which a unit of all workers (and ranks)
		 * has so many; NULL: by units.
		 */
		const char *part;
		double (*parts)(const struct trial *);
	} unit;
	const struct parameter *parameters;
	const struct metric *metrics;
	const struct ratio *ratios;	  /* NULL: none; ends with a row without a name */
	const struct explained *counters; /* ends with a row without events */
	const struct variant *variants;
	struct ops ops;
	const struct role *roles; /* ends with a row without a name */
	struct preset preset[PROFILES];
	/*
	 * While trials are planned, before all else: fills in values that follow from others, so
	 * that equal trials have one identity. `given`: BIT()s of what the user gave. A text is
	 * replaced by another that can be freed. NULL, or what is wrong with the command line;
	 * valid until the next call.
	 */
	const char *(*settle)(const struct trial *, union value *, uint64_t given);
	struct needs (*needs)(const struct trial *);
};

#endif
