/* SPDX-License-Identifier: Apache-2.0 */
/* Points in the order of former labels, so that the points of a label are close together. */
#ifndef LOCUS_KMEANS_SORTED_H
#define LOCUS_KMEANS_SORTED_H

#include "solve/kmeans/method.h"
#include "solve/kmeans/tiles.h"

struct sorted {
	bool done;	 /* not yet: as given, and there are no rows */
	uint32_t *point; /* as given */
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
/* Labels of n points as given get the order of `point`. Scratch: `other`, n. */
void sorted_follow(struct sorted *, size_t n, uint32_t *other);
/* Makes the rows of all points, in the order of `point`. */
void sorted_rows(struct sorted *, const struct share *, const struct stage *);
/*
 * Sorts the points by label, and makes their rows. Those of label c end before end[c]. Scratch:
 * `other`, n.
 */
void sorted_make(struct sorted *, const struct share *, const struct stage *, uint32_t *end,
		 uint32_t *other);
/* Writes the labels in the order of the points as given. */
void sorted_labels(const struct sorted *, struct share *);

/* Makes row `at`, of a point as given. */
static inline void sorted_relate(const struct sorted *sorted, const struct tiles *t,
				 const struct share *s, const struct stage *g, size_t at,
				 size_t point)
{
	const size_t row = row_bytes(g);

	t->relate(sorted->row + at * row, (const char *)s->x + point * row, g->origin, g->d);
}

/* A point as given. */
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

/* Counting sort: turns how many there are of each of n kinds into where each begins. */
static inline void begin_each(uint32_t *count, unsigned n)
{
	for (uint32_t i = 0, sum = 0; i < n; i++) {
		const uint32_t here = count[i];

		count[i] = sum;
		sum += here;
	}
}

#endif
