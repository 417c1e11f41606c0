/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the benchmark share: its parameters, points, the check of an answer. */
#ifndef LOCUS_KMEANS_H
#define LOCUS_KMEANS_H

#include <string.h>

#include "benchmark.h"
#include "solve/kmeans/kmeans.h"
#include "trial.h"

/* ---- points (data.c) ---- */

enum shape { SHAPE_UNIFORM, SHAPE_BLOBS };
/* the choices of a parameter, in the order of enum shape */
#define SHAPE_CHOICES "uniform,blobs"

struct recipe {
	/* uniform: in [0,1)^d; blobs: Gaussian, around middles that are uniform in [-10,10)^d */
	enum shape shape;
	uint64_t seed;
	/* blobs: how many; each point belongs to a random one */
	unsigned k;
	double spread; /* blobs: standard deviation in each dimension */
};

/*
 * Upper bound of |x| of a blob's coordinates: middles are below 10, and normal deviates made from
 * 53 bits end at 8.57.
 */
static inline double farthest_of_blobs(double spread)
{
	return 10 + 8.6 * spread;
}

/*
 * Makes rows first..first+part->n-1 of part->d values. A value depends on seed, row and dimension
 * alone: more dimensions leave the first ones as they are. (Of blobs, the last bits also depend on
 * the processor, where libm uses its multiply-add.)
 */
void generate_points(const struct recipe *, size_t first, struct points *part);

/*
 * The row of n that start centre `turn` copies, 0 <= turn < n: random rows, none twice, the same in
 * each process. Rows, and so centres, may have equal values: then the first such centre gets all
 * points, and the others stay where they are.
 */
size_t drawn_row(uint64_t seed, size_t n, size_t turn);

/*
 * Maps this rank's points; each worker makes or reads its share, and so touches it first. Sets the
 * problem's points and start centres, and returns the centres, to be freed. NULL with errno, or
 * after arena_cannot().
 */
void *data_bring(const struct trial *, struct problem *);

/*
 * Writes the files that --save-labels and --save-centres ask for. Called by worker 0 of all ranks.
 * NULL, or what went wrong on this rank, valid until the next call.
 */
const char *kmeans_save(const struct trial *, const struct problem *, const struct solution *);

/* ---- parameters (settle.c) ---- */

/* Indices into the table of parameters (kmeans.c). */
enum {
	POINTS,
	DIMENSIONS,
	CLUSTERS,
	ITERATIONS,
	TYPE,
	DATA,
	SPREAD,
	CENTRES,
	PRUNE,
	SAVE_LABELS,
	SAVE_CENTRES,
	ROWS
};
/* choice of DATA, after enum shape's */
enum { FROM_FILE = SHAPE_BLOBS + 1 };

/* SAVE_LABELS, SAVE_CENTRES: no file; CENTRES: rows drawn from the points */
#define NONE  "none"
#define DRAWN "drawn"

/* Whether a parameter whose value is a text has this word. */
static inline bool is(const union value *value, unsigned parameter, const char *word)
{
	return !strcmp(value[parameter].text, word);
}

/*
 * Whether a parameter names a file to read, after kmeans_settle(). See `input` of struct parameter.
 */
bool kmeans_reads_points(const union value *);
bool kmeans_reads_centres(const union value *);

/* See struct benchmark. */
const char *kmeans_settle(const struct trial *, union value *, uint64_t given);

struct needs kmeans_needs(const struct trial *);

/*
 * The problem without points and centres, which data_bring() adds. `room` is the same on all ranks.
 */
struct problem problem_of(const struct trial *);

/* ---- the check (verify.c): independently of the solvers, by differences of long doubles ---- */

/*
 * Run on the team; only worker 0 may call these functions. u is the unit roundoff of the points'
 * type. Checked are:
 *
 *	labels   no centre of `from` is nearer than the label's by more than (d + 4) u of
 *	         the sum of both squared distances, which is more than both lose by rounding.
 *	         All points are checked or, if n k d exceeds 2^25, evenly spaced ones.
 *	counts   agree exactly with the labels
 *	centres  are the means of their points; tolerance in each dimension: 4 u max|x| (the
 *	         mean is rounded to the points' type) + count 2^-52 max|x| (sums of double in
 *	         any order) of the cluster's points + (u + all 2^-60) of the width of all
 *	         points, without those that lie far out (kmeans_spread(); sums of 64-bit
 *	         integers). A centre without points stays where it was.
 *	end      without a number of iterations: centres equal `from`, within twice that tolerance
 *
 * NULL when right, else what is wrong, valid until the thread's next call.
 */
const char *solution_verify(const struct problem *, const struct solution *);

size_t solution_verify_bytes(const struct problem *); /* memory that solution_verify() needs */

/* Sum of squared distances of all points to their centres; NAN without memory. */
double solution_inertia(const struct problem *, const struct solution *);

#endif
