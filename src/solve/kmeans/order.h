/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Points in an order other than the given one: sorted by label, or redistributed to the workers by
 * place.
 */
#ifndef LOCUS_KMEANS_ORDER_H
#define LOCUS_KMEANS_ORDER_H

#include "kit/carve.h"
#include "solve/kmeans/method.h"
#include "solve/kmeans/tiles.h"

/* ---- one worker's points, in the order of former labels ---- */

struct sorted {
	bool done;	 /* false: points have their original order, and there are no rows */
	uint32_t *point; /* its original place */
	uint32_t *label;
	char *row; /* relative */
};

static inline size_t row_bytes(const struct stage *g)
{
	return g->d * real_bytes(g->real);
}

static inline const char *centre_of(const struct stage *g, uint32_t c)
{
	return (const char *)g->centre + c * row_bytes(g);
}

/* Whether points of a worker fit 32 bits and centres 16. The same on all ranks. */
bool sorted_fits(const struct problem *);
/* The most points that a worker has; the same on all ranks. */
size_t sorted_points(const struct problem *);
void sorted_lay_out(struct sorted *, struct carver *, size_t n, unsigned d, enum real);
/* Brings n labels from the original order into the order of `point`. Scratch: `other`, n. */
void sorted_follow(struct sorted *, size_t n, uint32_t *other);
/* Makes the rows of all points, in the order of `point`. */
void sorted_rows(struct sorted *, const struct share *, const struct stage *);
/*
 * Sorts the points by label, and makes their rows. Those of label c end before end[c]. Scratch:
 * `other`, n.
 */
void sorted_make(struct sorted *, const struct share *, const struct stage *, uint32_t *end,
		 uint32_t *other);
/* Writes the labels in the points' original order. */
void sorted_labels(const struct sorted *, struct share *);

/* Makes row `at` from an original point. */
static inline void sorted_relate(const struct sorted *sorted, const struct tiles *t,
				 const struct share *s, const struct stage *g, size_t at,
				 size_t point)
{
	const size_t row = row_bytes(g);

	t->relate(sorted->row + at * row, (const char *)s->x + point * row, g->origin, g->d);
}

/* An original point. */
static inline const char *sorted_given(const struct sorted *sorted, const struct share *s,
				       const struct stage *g, uint32_t point)
{
	return (const char *)s->x + sorted->point[point] * row_bytes(g);
}

/* Gives a point a label. */
static inline void sorted_assign(struct sorted *sorted, struct share *s, const struct stage *g,
				 uint32_t point, uint32_t to)
{
	if (sorted->label[point] == to)
		return;
	sums_move(&s->change, g->real, sorted->row + point * row_bytes(g), g->scale,
		  sorted->label[point], to);
	sorted->label[point] = to;
}

/* Counting sort: turns the numbers of n kinds into the beginnings of each kind. */
static inline void begin_each(uint32_t *count, unsigned n)
{
	for (uint32_t i = 0, sum = 0; i < n; i++) {
		const uint32_t here = count[i];

		count[i] = sum;
		sum += here;
	}
}

/* ---- all workers' points, redistributed by place ---- */

/*
 * Deals (redistributes) the points of all workers, so that each worker has the points of some parts
 * of the space. In their original order a worker's points lie everywhere in the space, the farther
 * apart the more workers there are. Afterwards a share's points and labels are in the new order.
 *
 * The parts come from the top of a tree (k-d: Bentley 1975), which halves the points where they are
 * spread most. The top is made of a sample, and all points go down it at once.
 */
enum {
	MOST_PARTS = 256,
	SAMPLED = 32, /* sampled points per part, from which the top is made */
};

/* A cut through a part of the space: points before `at` are in the first half. */
struct cut {
	unsigned by; /* dimension */
	float at;
};

struct tree {
	unsigned levels; /* of cuts in `top` */
	struct cut *top; /* a heap: the root is 1 */
	double whole;	 /* mean logarithm of the sides of the sample's box */
	float *sample;	 /* rows */
	float *key;
	uint32_t *order;   /* order of rows: the sample's, then the rows being halved */
	float *low, *high; /* bounds of the part being halved */
	double *exact;	   /* a row */
};

/* Room for a top made from so many points; then for halving rows. */
void tree_lay_out(struct tree *, struct carver *, size_t points, size_t rows, unsigned d);
/* Levels of the top, for n points. */
unsigned tree_levels(size_t n);
/* Makes the top from a sample of the points. */
void tree_plant(struct tree *, const void *x, size_t points, const struct stage *);
/*
 * Finds the part of each of a share's points, and makes their rows (NULL: does not keep them).
 * Overwrites the sample. Returns how many parts there are.
 */
unsigned tree_find_parts(struct tree *, const struct share *, const struct stage *, float *rows,
			 uint32_t *part);

unsigned tree_widest(const float *low, const float *high, unsigned d);
/* Finds the box of the rows at places first..last-1 of `order`. */
void tree_enclose(const float *rows, const uint32_t *order, size_t first, size_t last, unsigned d,
		  float *low, float *high);
/* Halves places first..last-1 of the order at `middle`, by one dimension. Returns the cut. */
float tree_halve(struct tree *, const float *rows, size_t first, size_t last, size_t middle,
		 unsigned by, unsigned d);
/* The mean logarithm of the sides of low..high, without sides of length 0. */
double tree_log_of_sides(const struct tree *, unsigned d);

/* Whether dealing is possible and worth the work; the same on all ranks. */
bool deal_pays(const struct problem *);
/* Bytes of share->memory that deal_by_place() needs. */
size_t deal_bytes(const struct problem *);
/* All workers call it together, before the first iteration. */
void deal_by_place(struct share *, const struct stage *);

/* All workers call it together, after the last iteration: puts labels into the given order. */
void deal_labels(struct share *);
/* As deal_labels(), after this worker has written its points' labels to joint->label, by place. */
void deal_labels_by_place(struct share *);

#endif
