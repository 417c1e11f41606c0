/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of the methods (cells, boxes, balls, brute). A method assigns points to centres;
 * lloyd.c does all else: threads, ranks, sums, means, the end.
 *
 * All methods give the same labels, bit for bit, because a label is defined by a fixed computation:
 * it is the centre with the least squared distance to the point, by differences of coordinates as
 * given (exact.c); of equal ones the lowest. Most points need none of it: scores decide their
 * label. Scores use coordinates that are relative to the middle of the box of all points (which
 * keeps rounding small), and scaled by a power of two into [-1, 1] (so squares neither overflow nor
 * underflow): x = (given - origin) * unit, in the points' type. The score of centre c for point x
 * is
 *
 *	s = half[c];  for j = 0, 1, ..., d - 1:  s = fma(-x[j], centre[c][j], s)
 *
 * Without rounding, s is (|x - c|^2 - |x|^2) / 2. Scores that differ by more than `margin` tell
 * which centre is nearer; among those that don't, distances decide. Pruning may skip a centre only
 * where |x - c|^2 exceeds the squared distance to another centre by more than 4 * slack.
 *
 * To add a method: a file with a `const struct method`, and a line in lloyd.c's table.
 */
#ifndef LOCUS_KMEANS_METHOD_H
#define LOCUS_KMEANS_METHOD_H

#include "base/apart.h"
#include "kit/carve.h"
#include "kit/instructions.h"
#include "machine/threads/team.h"
#include "solve/kmeans/kmeans.h"
#include "solve/kmeans/sums.h"

/* An iteration's input, shared by all workers; constant during the iteration. */
struct stage {
	enum real real;
	unsigned d, k;
	size_t all;	    /* points of all ranks */
	const void *origin; /* d, of the points' type, and then the unit */
	const void *centre; /* k rows of d, relative, of the points' type */
	/* k, of the points' type: half the square of a centre's length */
	const void *half;
	const double *given;	  /* k rows of d: the centres as given */
	const double *low, *high; /* d: the box of the relative points of all ranks */
	/* k: upper bound of the centre's move since the last iteration; 0 in the first */
	const double *moved;
	double reach; /* upper bound of |x| over all points */
	/* upper bound of the rounding in the difference of two scores (frame.c) */
	double slack;
	/* if scores of the points' type differ by more, they show which centre is nearer */
	double margin;
	const double *scale; /* d: the scale of the sums */
	uint64_t iteration;  /* 0, 1, ... */
	uint64_t iterations; /* number of iterations; 0: until no label changes */
	/* distances computed in the last iteration, by all workers of all ranks */
	uint64_t computed;
	enum isa widest; /* the widest set that may be used: tests also use narrower ones */
	/* the user chose the method: it must not switch itself off */
	bool forced;
};

/* Data that the workers of this rank share, so that points can be redistributed among them. */
struct joint {
	size_t points;		   /* number of points of all of them */
	const struct share *share; /* by worker */
	unsigned workers;
	struct team *team;
	/* a row and a label for each point, in another order; NULL: points stay as given */
	void *row;
	uint32_t *label;
};

/* Memory for exact.c: a relative row, the scores of all centres, the candidates for the nearest. */
struct scratch {
	void *row, *score;
	uint32_t *near;
};

/* One worker's points and memory. */
struct share {
	_Alignas(APART) size_t n; /* its points */
	/* n rows of d: as given or, if `dealt`, as redistributed (order.h) */
	const void *x;
	/* the method's own memory, bytes() long and aligned to APART; kept until labels() */
	void *memory;
	size_t bytes; /* bytes of all of this worker's memory */
	struct scratch scratch;
	/*
	 * outliers.c: k rows of d, each cluster's largest values; k more, its least ones, negated
	 */
	double *extent;
	const struct joint *joint;
	unsigned index; /* the worker's */
	/* zero before assign(), which adds moved points and the number of computed distances */
	struct sums change;
	/*
	 * the first iteration after build(); if not 0, `label` has the labels of the previous
	 * iteration
	 */
	uint64_t built;
	uint32_t *label; /* n: written by labels(), in the order of x */
	/* with joint rows: */
	/* n: place of each given point among the joint rows; before that, its part */
	uint32_t *place;
	uint32_t *of_part; /* the number of points in each part (order.h) */
	bool dealt;
};

/* Returns when all workers of the rank have called it. */
static inline void share_meet(const struct share *s)
{
	if (s->joint->workers > 1)
		team_barrier(s->joint->team);
}

/* For build(): copies the labels of the previous iteration, or SUM_NONE. */
static inline void share_labels_before(const struct share *s, uint32_t *label)
{
	for (size_t i = 0; i < s->n; i++)
		label[i] = s->built ? s->label[i] : SUM_NONE;
}

struct method {
	const char *name;
	bool (*fits)(const struct problem *); /* the same on all ranks. NULL: always */
	/* whether auto should choose it; the same on all ranks. NULL: always */
	bool (*pays)(const struct problem *);
	/* bytes of the memory of a share of n points */
	size_t (*bytes)(const struct problem *, size_t n);
	/*
	 * All workers call build() before the first iteration, when everything except the centres
	 * is known, and labels() after the last; there they may share_meet(). When one returns,
	 * others may still read the joint memory.
	 */
	void (*build)(struct share *, const struct stage *);
	/*
	 * Finds the label of each point. A point whose label changed (or that had none) is moved
	 * from the old to the new cluster in share->change.
	 */
	void (*assign)(struct share *, const struct stage *);
	void (*labels)(struct share *, const struct stage *); /* writes share->label */
	/*
	 * Asked before each iteration except the first of all: whether the next method should take
	 * over from this worker. NULL: no.
	 */
	bool (*gives_up)(struct share *, const struct stage *);
};
extern const struct method method_balls, method_boxes, method_brute, method_cells;

/* The chosen methods, NULL after the last. Each takes over if the one before does not pay. */
enum { MOST_METHODS = 5 };
struct choice {
	const struct method *method[MOST_METHODS + 1];
	/*
	 * for the first method, points are redistributed to the workers by their place: by the
	 * method itself, or before it
	 */
	bool joint, deals;
};

/* Chooses methods, the same on all ranks. None fits: the pruning does not suit the problem. */
struct choice choice_make(const struct problem *, enum prune);

#endif
