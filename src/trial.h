/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments of a benchmark's functions: the trial, its workers, its ranks, and where results
 * go.
 */
#ifndef LOCUS_TRIAL_H
#define LOCUS_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ranks.h"
#include "machine/memory/arena.h"
#include "machine/memory/region.h"
#include "machine/threads/team.h"

struct benchmark;
struct machine;
struct variant;

/* The value of a parameter. Which member it is follows from the parameter's type. */
union value {
	/* P_COUNT; P_SIZE, in bytes; P_NODE, the kernel's number */
	uint64_t count;
	double real;	 /* P_REAL */
	unsigned choice; /* P_CHOICE: index into choices */
	/* P_PATH; P_LAYOUT, in its canonical form: threads on each node, "8+8" */
	const char *text;
};

/* One point to be measured. */
struct trial {
	const struct benchmark *benchmark;
	const struct variant *variant;
	/* by the benchmark's own enum, in the order of its parameters */
	const union value *value;
	unsigned threads;
	const struct place *place; /* by worker */
	bool oversubscribed;	   /* more threads than CPUs */
	bool floating;		   /* threads may move: their places are where they start */
	const struct machine *machine;
	/* for all random numbers: the same in each run, unless --seed is given */
	uint64_t seed;
	/* 0, 1, ...: mix it into the seed if fresh memory should mean a fresh pattern */
	unsigned allocation;
	/* bytes it may map, the same on all ranks; 0: no limit */
	size_t memory;
	/* memory of the trial (machine/memory/arena.h); NULL while planning */
	struct arena *arena;
	struct team *team;	   /* its workers (machine/threads/team.h); NULL while planning */
	const struct ranks *ranks; /* NULL: the trial is not divided over ranks */
};

/* Filled by collect(). */
struct result;
/* Sets the metric's value in this sample, whatever its kind. */
void report(struct result *, unsigned metric, double value);
/*
 * Reports the value of one worker; workers may be left out. The metric is derived from the values
 * of the workers of all ranks.
 */
void report_by_worker(struct result *, unsigned metric, unsigned worker, double value);
/*
 * Adds a worker's histogram of this sample; the caller then clears it. `unit`: the histogram's
 * value 1 in the metric's unit, such as 1e-9 for ns.
 */
struct histogram;
void report_distribution(struct result *, unsigned metric, const struct histogram *, double unit);
/*
 * Reports what this rank measured with another one, or with itself, in this sample; only one rank
 * of each pair reports. Ranks may be left out.
 */
void report_with(struct result *, unsigned metric, unsigned rank, double value);
double elapsed(const struct result *); /* s: wall time of the sample */
/*
 * s of the sample spent in the calls of struct ranks, on the rank that spends least: the others'
 * time includes waiting for the slowest rank. NAN without ranks.
 */
double communicated(const struct result *);

#endif
