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
 *                             -- the node of every page is read back and compared with the claim --
 *	reset     worker 0     before each sample; may run the team, whose pairs are seated
 *      ready     each worker  before its work() in each sample: returns when it may begin. Workers
 *                of other roles may be at work by then; the time begins with the first role's
 *	work      each worker  the sample: this alone is timed
 *	collect   worker 0     after each sample: metrics beyond time
 *	                       -- the node of every page is read back again --
 *	verify    worker 0     once an allocation: is the answer right? May run the team. The
 *                fields of struct worker may then be another trial's.
 *	release   worker 0     once an allocation; the harness unmaps the regions
 *
 * A kernel (work) does not print, allocate, ask which variant it is, or read a clock. Exception:
 * clock_ticks(), where the time of a part of the work is the result.
 */
#ifndef LOCUS_BENCHMARK_H
#define LOCUS_BENCHMARK_H

#include "trial.h"

enum profile { QUICK, STANDARD, PAPER, PROFILES };

/* The rows of a table, in an initialiser: ROWS(variants, variants). The compiler counts them. */
#define ROWS(MEMBER, ARRAY) .MEMBER = (ARRAY), .n_##MEMBER = sizeof(ARRAY) / sizeof(*(ARRAY))

/*
 * Something a user can vary: --NAME=LIST. The trials of a run are the product of all lists. A list
 * is "1,2,4", a range "16K..256M*2" (from, to, factor) or "0..64+8" (step), or words; in a P_PATH a
 * comma is "\,". A profile without a value takes the previous profile's.
 *
 * P_LAYOUT says on which nodes the threads of a trial sit:
 *	packed   all on one node: the one with most cores (of the fastest kind, where cores
 *	         differ), the first if several are equal
 *	split    as many as packed, divided over the nodes as evenly as they fit: free cores are
 *	         taken first, then free CPUs
 *	all      one on each core of the machine
 *	node:1   all on that node
 *	each     a trial for each node with CPUs, as node:N
 *	8+8      threads on each node with CPUs
 * Unless --threads says otherwise, packed and node:1 have one on each core of that node. Words that
 * come to the same layout make one trial. A trial has at most one layout; without one its threads
 * are bound by --bind. With one, a list of --bind restricts the CPUs, and close or spread says how
 * threads sit within a node.
 *
 * P_NODE says on which node memory lies: numbers, "all", or "first" (of the nodes with memory).
 */
enum { MOST_MEANINGS = 12 };

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
		/* a count that resolve() sets: no option, not in the identity; ranks agree on it */
		P_DERIVED,
	} type;
	const char *choices; /* P_CHOICE: "loop,reverse" */
	const char *value[PROFILES];
	/* P_CHOICE: the meaning of each choice, in their order; none if .help gives it */
	const char *meaning[MOST_MEANINGS];
	/* P_COUNT, P_SIZE: what the words "auto" and "all" stand for; NULL: no such word */
	uint64_t (*automatic)(const struct machine *, enum profile),
		(*all)(const struct machine *, enum profile);
	/* an x axis: trials of its values are sampled in turn, so that drift does not bend it */
	bool curve;
	/* where the answer is written: not in the identity; can be given for one trial only */
	bool output;
	/*
	 * P_PATH: true if the value names a file to read, given all values after resolve(). Then
	 * the identity has the file's contents, not its path. NULL: never
	 */
	bool (*input)(const union value *);
	/*
	 * With input: returns a sentence on how the file is read, if that was a guess, or NULL; the
	 * caller frees it. It is printed once for each file. NULL: nothing is guessed
	 */
	char *(*guess)(const char *path);
	/* shown for 0 where that has a meaning of its own: "auto"; NULL: 0 */
	const char *zero;
};

/* Used in place of a parameter's index: the variant, the number of threads. */
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
	 * The value is amount() over the time per unit: the amount of one unit of work, in the
	 * metric's unit without "/s". NULL: collect() reports the value.
	 */
	double (*amount)(const struct trial *);
	/* How collect() reports it, and what its value in a sample is. */
	enum metric_kind {
		M_VALUE,	/* report(): the number itself; up to 1, pages call it a share */
		M_COUNT,	/* report(): how many; never a share */
		M_FAIRNESS,	/* report_by_worker(): the least over the most */
		M_IMBALANCE,	/* report_by_worker(): the most over the mean */
		M_MEDIAN,	/* report_by_worker(): the median; of a worker, over samples */
		M_MOST,		/* report_by_worker(): the most; of a worker, over samples */
		M_DISTRIBUTION, /* report_distribution(): the median; the record has quantiles */
		M_ROW, /* report_with(): the median of all ranks; the record has each in a row */
	} kind;
	/*
	 * The metric is an answer: a ratio is not given if the answers of its two trials differ by
	 * more than this part of the larger one. 0: it is no answer.
	 */
	double same;
};
/* Every benchmark has this row: wall time over the units that a worker did. */
#define TIME_METRIC(UNIT)                                                              \
	{                                                                              \
		"time", "s/" UNIT, "wall time of a sample per " UNIT " of one worker", \
			LOWER_IS_BETTER, NULL                                          \
	}
/* Units of all threads together, where a unit is the work of one thread. */
#define THROUGHPUT_METRIC(UNIT)                                                              \
	{                                                                                    \
		"throughput", UNIT "/s", UNIT "s of all threads together", HIGHER_IS_BETTER, \
			threads_together                                                     \
	}
static inline double threads_together(const struct trial *t)
{
	return t->threads;
}
/* A metric for report_by_worker(), which gets the units that each thread did. */
#define FAIRNESS_METRIC(UNIT)                                                              \
	{                                                                                  \
		"fairness", "1", UNIT "s of the slowest thread over those of the fastest", \
			HIGHER_IS_BETTER, .kind = M_FAIRNESS                               \
	}

/*
 * Compares two trials that differ in one parameter: the time (or another metric) with `of`, divided
 * by the time with `to`. They are sampled in turn if memory has room for both. More than 1 always
 * means that `to` is better: if more of a metric is better, the quotient is inverted. P_THREADS:
 * the fewest threads are compared with each other number.
 */
struct ratio {
	const char *name, *help;
	unsigned parameter; /* a P_CHOICE, P_VARIANT or P_THREADS */
	/*
	 * values of the parameter, "dense" and "padded"; P_THREADS: names for `locus list`,
	 * "fewest" and "more"
	 */
	const char *of, *to;
	const char *metric; /* NULL: the time */
};

/*
 * An event of `--counters default`, which helps to explain the result, by its name in PAPI or
 * perf::. Alternatives are separated by "|"; the first that can be counted is used.
 */
struct explained {
	const char *events, *what;
};

/* The functions of a trial, in the order above. NULL: nothing to do. */
struct ops {
	/* returns the state; NULL with errno on failure; arena_cannot() notes why in words */
	void *(*prepare)(const struct trial *);
	void (*enter)(void *, struct worker *);
	void (*reset)(void *);
	void (*work)(void *, struct worker *);
	void (*collect)(void *, const struct trial *, struct result *);
	/* NULL: correct; else the fault, valid until the next call */
	const char *(*verify)(void *, const struct trial *);
	void (*release)(void *);
	void (*ready)(void *, struct worker *);
};

/*
 * A group of workers that do the same job. Roles are filled in order; the time of a trial is per
 * unit of the first role.
 */
struct role {
	const char *name;
	unsigned (*workers)(const struct trial *); /* NULL: all that are left */
	enum until {
		BY_COUNT, /* a number of units: calibrated, unless needs.units fixes it */
		/*
		 * until *stop, which is raised when the time of the sample is up, or when all
		 * BY_COUNT workers are done
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
 * takes the previous profile's.
 */
struct override {
	unsigned parameter;
	const char *value[PROFILES];
};

/* One way of doing the work: a row of plain data. */
struct variant {
	const char *name, *summary;
	const void *data; /* what differs from other variants, if data can express it */
	/* BIT(A) | BIT(B): parameters that the variant does not use: not in its identity */
	uint64_t unused;
	const struct override *defaults; /* ROWS; none: the parameters' own */
	const struct ops *ops;		 /* NULL: the benchmark's */
	const struct role *roles;	 /* ROWS; none: the benchmark's */
	unsigned n_defaults, n_roles;
	bool divided; /* can be divided over ranks: locus-mpi runs it */
	/*
	 * Differs from the others only if memory has several nodes: on a machine with one it is
	 * left out, unless requested by name or by a parameter that only such variants have.
	 * Otherwise a suite would measure six variants of numa there for nothing.
	 */
	bool several_nodes;
	/*
	 * Returns what this machine lacks, such as a library, so that the variant is impossible;
	 * NULL: nothing. Without a function the variant is always possible.
	 */
	const char *(*available)(void);
};

/* What a trial requires; 0 and NULL: nothing special. */
struct needs {
	const char *pointless; /* why this combination makes no sense: it is left out */
	const char *lengthy;   /* why a quick suite leaves it out */
	size_t bytes;	       /* mapped; over ranks, by the rank that maps most */
	/* bytes in lines that work() touches, if they are far fewer; 0: all */
	size_t touched;
	/*
	 * units of a sample, for all workers of the first role together; 0: as many as fit its time
	 */
	uint64_t units;
	/* units of work until an allocation is fully warm; 0: one sample is enough */
	uint64_t warm;
	/*
	 * fills caches: sampled in turn only with trials that a ratio compares it with, which evict
	 * its data; each batch warms up
	 */
	bool alone;
	unsigned meetings; /* IN_PAIRS: how often each pair meets in a batch */
};

/*
 * How the length of a sample is measured. `time` is this length over the mean number of units that
 * a worker of the first role did.
 */
enum scored {
	SPAN, /* from the first worker's start to the last one's end */
	/* from the last one's start to the first one's end: work() sets worker.together */
	TOGETHER,
	/*
	 * Workers meet in pairs, each worker with each other one, in rounds of disjoint pairs. The
	 * length is the median time of the pairs, each measured from the moment when both workers
	 * have started. worker.group is the pair, worker.role the side; a worker without a pair in
	 * a round does not call work().
	 */
	IN_PAIRS,
};

/* A profile's settings. NULL and 0: as in the previous profile. */
struct preset {
	const char *variants; /* NULL: all; over ranks, all that can be divided */
	/* NULL: as many as the layout says; without a layout, one a core */
	const char *threads;
	/* s: target length of a sample; 1e-3 if interference only adds time, more for throughput */
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
	/* The unit of work: of each worker ("tick", "load"), or of all together ("pass"). */
	struct {
		const char *name;
		bool cycles; /* it is an access: tables show its time in core cycles, too */
		/*
		 * Counts are given per part, such as "line"; parts() says how many a unit of all
		 * workers (and ranks) has. NULL: counts are given per unit.
		 */
		const char *part;
		double (*parts)(const struct trial *);
	} unit;
	/* ROWS of each; there may be no ratios, counters or parameters */
	const struct parameter *parameters;
	const struct metric *metrics;
	const struct ratio *ratios;
	const struct explained *counters;
	const struct variant *variants;
	const struct role *roles;
	unsigned n_parameters, n_metrics, n_ratios, n_counters, n_variants, n_roles;
	struct ops ops;
	struct preset preset[PROFILES];
	/*
	 * Called first when a trial is planned: fills in values that follow from others, so that
	 * equal trials have one identity. `given` has a BIT() for each parameter that the user
	 * gave. A new text must be one that free() takes. Returns NULL, or the fault in the command
	 * line, valid until the next call.
	 */
	const char *(*resolve)(const struct trial *, union value *, uint64_t given);
	struct needs (*needs)(const struct trial *);
};

#endif
