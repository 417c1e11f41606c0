/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops over blocks of points, in the widest vectors that this CPU has.
 */
#ifndef LOCUS_KMEANS_TILES_H
#define LOCUS_KMEANS_TILES_H

#include <stddef.h>
#include <stdint.h>

#include "kit/carve.h"
#include "kit/real.h"
#include "solve/kmeans/sums.h"

/* Centres as the tiles read them. */
struct packed {
	unsigned d, k, groups;
	/*
	 * values: groups of `group` centres, dimension by dimension; half squares in the centres'
	 * order
	 */
	void *value, *half;
};

/*
 * A float times UPPER or LOWER bounds the number that was rounded to it, from above or below; this
 * also holds for sums of a few such floats.
 */
#define UPPER (1 + 0x1p-20F)
#define LOWER (1 - 0x1p-20F)

/* The loops for one instruction set and one type. */
struct tiles {
	/* points of a block, centres of a group, values of a vector */
	unsigned block, group, lanes;
	/* Packs k centres: the listed ones, or all (NULL). */
	void (*pack)(struct packed *, const void *centre, const void *half, const uint32_t *list);
	/*
	 * Makes a block of up to `block` original points: relative to `origin` (struct stage,
	 * method.h), value j of point i at [j * block + i].
	 */
	void (*transpose)(void *block, const void *given, const void *origin, size_t n, unsigned d);
	/*
	 * Finds the box of original points: the least value in each dimension, and the negated
	 * largest. Scratch: 2 d vectors.
	 */
	void (*box)(const void *given, size_t n, unsigned d, double *least, double *negated,
		    void *scratch);
	/*
	 * Finds the nearest centre of each point of a block. Returns the points (bit i: point i)
	 * whose least score is below all their other scores by more than `margin`.
	 */
	uint64_t (*nearest_apart)(const void *block, const struct packed *, double margin,
				  uint32_t *label);
	/*
	 * The same for n listed centres, in their order, whose values and halves are not packed.
	 */
	uint64_t (*nearest_listed)(const void *block, const void *value, const void *half,
				   const uint32_t *list, unsigned n, unsigned d, double margin,
				   uint32_t *label);
	/*
	 * Finds, for up to FEW_ROWS rows (relative), the nearest centre, its score and the second
	 * least.
	 */
	void (*two_of_rows)(const void *rows, unsigned n, const struct packed *, uint32_t *label,
			    void *scores, void *seconds);
	/*
	 * Computes the scores of all centres for a row (relative); room for whole groups. Returns
	 * the least.
	 */
	double (*scores)(const void *row, const struct packed *, void *score);
	/*
	 * Lists the centres that may be nearest to a point of a box, which lies within `extent` of
	 * its middle in each dimension: all whose score exceeds the score of the centre nearest
	 * to the middle by at most `margin` somewhere in the box. Computes all scores of the
	 * middle (see scores()). Returns how many.
	 */
	unsigned (*rivals)(const void *middle, const void *extent, const struct packed *,
			   double margin, void *score, uint16_t *found);
	void (*relate)(void *row, const void *given, const void *origin, unsigned d);
	/* squared distance of two rows */
	double (*square)(const void *row, const void *other, unsigned d);
	/* squared distances of n listed rows (relative) from another */
	void (*squares)(const void *rows, const uint32_t *list, size_t n, const void *other,
			unsigned d, double *square);
	/* Adds up n listed rows. */
	void (*total)(void *total, const void *rows, const uint32_t *list, size_t n, unsigned d);
	/* Copies n listed rows, as floats. */
	void (*floats)(float *to, const void *rows, const uint32_t *list, unsigned n, unsigned d);
	/* Lists which of n scores are at most `limit`, and finds the least. Returns how many. */
	unsigned (*near)(const void *scores, unsigned n, double limit, uint16_t *near,
			 double *least);
	/*
	 * Moves the points with a new label, among a block's first n, from sum to sum; copies the
	 * new labels to `before`.
	 */
	void (*move)(struct sums *, const void *block, const double *scale, size_t n,
		     uint32_t *before, const uint32_t *label);
	/* The same for n <= MOST_BLOCK rows (relative). */
	void (*move_rows)(struct sums *, const void *rows, const double *scale, size_t n,
			  uint32_t *before, const uint32_t *label);
	/* `turns` times CHAINS multiply-adds of vectors */
	void (*spin)(void *values, size_t turns);
};
enum {
	MOST_BLOCK = 64, /* points of a block */
	MOST_WIDTH = 64, /* bytes of a vector */
	FEW_ROWS = 8,	 /* rows of two_of_rows() */
	CHAINS = 16,
};

/* Prefetches a row, where rows come in an order that the CPU cannot predict. */
static inline void prefetch_row(const void *row, size_t bytes)
{
	enum { LINE = 64 };

	for (size_t at = 0; at < bytes; at += LINE)
		__builtin_prefetch((const char *)row + at);
}

/* The loops for the i-th instruction set that this CPU can run, the widest first; NULL: no more. */
const struct tiles *tiles_usable(unsigned i, enum real);
const struct tiles *tiles_choose(enum real); /* the widest */
/* The first k of packed centres. */
static inline struct packed packed_first(const struct packed *p, const struct tiles *t, unsigned k)
{
	return (struct packed){ p->d, k, (k + t->group - 1) / t->group, p->value, p->half };
}
/* Carves memory for k packed centres. */
struct packed packed_carve(struct carver *, unsigned d, unsigned k, enum real);

#endif
