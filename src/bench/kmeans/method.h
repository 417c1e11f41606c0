/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of the methods (cells, bounds, brute). A method assigns points to centres; all else
 * - threads, ranks, sums, means, the end - is lloyd.c's.
 *
 * All methods give the same labels, bit for bit, because the label is defined by what is computed:
 * values are relative to an origin, the middle of the box of all points (so data far from zero lose
 * nothing), in a unit by which the box lies between -1 and 1 (so squares are neither too large nor
 * too small): x = (given - origin) * unit, in the points' type; the unit is a power of two. The
 * score of centre c for point x is
 *
 *	s = half[c];  for j = 0, 1, ..., d - 1:  s = fma(-x[j], centre[c][j], s)
 *
 * in that type, in that order (without an instruction for it, a product and a difference), and the
 * label is the least score's; of equal ones the lowest c. Exactly computed, s would be (|x - c|^2 -
 * |x|^2) / 2. Pruning may leave out a centre only where its computed score can't be the least:
 * where |x - c|^2 exceeds the square of another one's distance by more than 4 * slack.
 *
 * To add a method: a file with a `const struct method`, a line in choice.c's table.
 */
#ifndef LOCUS_KMEANS_METHOD_H
#define LOCUS_KMEANS_METHOD_H

#include "bench/kmeans/problem.h"
#include "bench/kmeans/sums.h"
#include "kit/instructions.h"
#include "base/apart.h"

/* What all workers see of an iteration. It changes only between two of them. */
struct stage {
	enum real real;
	unsigned d, k;
	size_t all;	    /* points of all ranks */
	const void *origin; /* d, of the points' type, and then the unit */
	const void *centre; /* k rows of d, relative, of the points' type */
	/* k, of the points' type: half the square of a centre's length */
	const void *half;
	const double *low, *high; /* d: the box of the relative points of all ranks */
	/* k: at least how far the centre moved since the last iteration; 0 in the first */
	const double *moved;
	double reach; /* at least |x| of any point */
	/* at least what rounding does to a score, with the centres of this iteration */
	double slack;
	const double *scale; /* d: of sums */
	uint64_t iteration;  /* 0, 1, ... */
	/* distances in the last iteration, of all workers of all ranks: what to decide by */
	uint64_t computed;
	enum instruction_set widest; /* that may be used: tests take narrower ones, too */
	/* the method was asked for by name: it shall not decide that it does not pay */
	bool forced;
};

/* What one worker has. Nobody else looks at it while a method runs. */
struct share {
	_Alignas(APART) size_t n; /* its points */
	const void *x;		  /* as given: n rows of d */
	/*
	 * bytes() of it, aligned to APART, touched by its worker; it stays as build() and assign()
	 * leave it
	 */
	void *memory;
	size_t bytes; /* of all that is this worker's */
	/*
	 * assign() adds to it what changes, and the distances that it computes; empty when it is
	 * called
	 */
	struct sums change;
	/*
	 * the iteration that build() was called before; if not the first, the labels are those of
	 * the last one
	 */
	uint64_t built;
	/* n: labels() writes them there, in the order of the points as given */
	uint32_t *label;
};

/* For build(): what the labels are before. */
static inline void labels_before(uint32_t *label, const struct share *s)
{
	for (size_t i = 0; i < s->n; i++)
		label[i] = s->built ? s->label[i] : SUM_NONE;
}

struct method {
	const char *name;
	bool (*fits)(const struct problem *); /* the same on all ranks */
	/* where nobody asked for it; the same on all ranks. NULL: always */
	bool (*pays)(const struct problem *);
	size_t (*bytes)(size_t n, unsigned d, unsigned k, enum real); /* of a share's memory */
	/* before its first iteration: all but the centres is known */
	void (*build)(struct share *, const struct stage *);
	/*
	 * Finds the label of each point, and moves each point that has another one than before (or
	 * none before, in iteration 0) from the one cluster of share->change to the other.
	 */
	void (*assign)(struct share *, const struct stage *);
	void (*labels)(struct share *, const struct stage *);
};

/* What a clustering is done by. */
struct choice {
	const struct method *method;
	/* goes on where the method only thought that it pays; NULL: it does in any case */
	const struct method *otherwise;
};

#endif
