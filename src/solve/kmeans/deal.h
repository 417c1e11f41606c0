/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deals the points of all workers anew, so that each has those of some parts of the space: divided
 * as they are given, each worker's would lie everywhere, the farther apart the more workers there
 * are. Afterwards a share's points and labels are in the order in which they were dealt.
 *
 * The parts are those of the top of a tree (k-d: Bentley 1975), which halves the points where they
 * are spread most. The top is made of a sample, and all points go down it at once.
 */
#ifndef LOCUS_KMEANS_DEAL_H
#define LOCUS_KMEANS_DEAL_H

#include "kit/carve.h"
#include "solve/kmeans/method.h"

enum {
	MOST_PARTS = 256,
	SAMPLED = 32, /* points of a part that the top is made of */
};

/* A cut through a part of the space: points before `at` are in the first half. */
struct cut {
	unsigned by; /* dimension */
	float at;
};

struct tree {
	unsigned levels; /* of the top */
	struct cut *top; /* a heap: the root is 1 */
	double whole;	 /* mean logarithm of the sides of the sample's box */
	float *sample;	 /* rows */
	float *key;
	uint32_t *order;   /* of rows: those of the sample, then of what is halved */
	float *low, *high; /* of what is halved */
	double *exact;	   /* a row */
};

/* For a top made of so many points; then to halve rows. */
void tree_lay_out(struct tree *, struct carver *, size_t points, size_t rows, unsigned d);
/* Levels of the top, for n points. */
unsigned tree_levels(size_t n);
/* Makes the top, of a sample of the points. */
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
/* The mean logarithm of the sides of low..high, without those of no length. */
double tree_log_of_sides(const struct tree *, unsigned d);

/* Whether it is worth the work, and possible; the same on all ranks. */
bool deal_pays(const struct problem *);
/* Bytes of share->memory that deal_by_place() needs. */
size_t deal_bytes(const struct problem *);
/* All workers call it together, before the first iteration. */
void deal_by_place(struct share *, const struct stage *);

/* All workers call it together, after the last iteration: labels in the order as given. */
void deal_labels(struct share *);
/* The same once this worker has written its points' labels to joint->label, by place. */
void deal_labels_by_place(struct share *);

#endif
