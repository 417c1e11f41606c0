/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pruning by cells, for few dimensions. Points are sorted into cells of a grid that gets finer
 * where there are more of them, so that a cell has at most CELL_POINTS; and within a cell along a
 * winding path, so that a tile - as many as a line has room for - is a small patch of it.
 *
 * A cell knows its candidates: the centres that may be the nearest one of some point in its box (by
 * a linear test, as in Kanungo et al. 2002 and Pelleg and Moore 1999). A tile knows how far centres
 * may move until one of its labels can change (as a point does in Hamerly 2010), so that most tiles
 * are not touched in most iterations; the others are compared with their cell's candidates, of
 * which there are 2 or 3 in the plane.
 *
 * Why labels are those of all scores. Write a for the distance of a point to the nearest centre and
 * b for that to another one, and e for stage->slack. The other one's computed score can't be the
 * least where b^2 - a^2 > 4e, so where b - a > 2 sqrt(e) =: root. Where computed scores differ by
 * t, b^2 - a^2 >= 2t - 4e, and with a <= far this makes b - a >= sqrt(far^2 + 2t - 4e) - far, and
 * as long as that is at most `cap`, b - a >= (2t - 4e) / (2 far + cap). From then on b - a gets
 * less by no more than what the two centres have moved.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "bench/kmeans/cells.h"
#include "bench/kmeans/cells_index.h"
#include "kit/instructions.h"
#include "trial.h"

/* A form of the method, for an instruction set and a type. */
struct form {
	void (*build)(struct share *, const struct stage *);
	void (*assign)(struct share *, const struct stage *);
	void (*labels)(struct share *, const struct stage *);
};

#define LOOPS "bench/kmeans/cells_loops.h"
#include "bench/kmeans/vectors.h"

/* By width. */
static const struct {
	enum instruction_set needs;
	const struct form *of[2]; /* by type */
} forms[] = {
#ifdef __x86_64__
	{ AVX512, { [DOUBLE] = &form_avx512_double, [FLOAT] = &form_avx512_float } },
	{ AVX2, { [DOUBLE] = &form_avx2_double, [FLOAT] = &form_avx2_float } },
#endif
	{ BASELINE, { [DOUBLE] = &form_baseline_double, [FLOAT] = &form_baseline_float } },
};

static const struct form *form(const struct stage *g)
{
	size_t i = 0;

	while (forms[i].needs > g->widest || !instruction_set_usable(forms[i].needs))
		i++;
	return forms[i].of[g->real];
}

/* Of how many points a share is, or a few more; the same for all ranks. */
static size_t points_of_share(const struct problem *p)
{
	return p->all / p->threads / ranks_of(p->ranks);
}

static bool fits(const struct problem *p)
{
	/* a label has the type of the values */
	return p->points.d <= MOST_DIMENSIONS &&
	       p->k < (p->points.real == FLOAT ? 1u << 24 : UINT32_MAX) &&
	       points_of_share(p) < UINT32_MAX - 2; /* a point has a number of 32 bits */
}

/*
 * To sort the points costs as much as some iterations of brute force, which cost more with more
 * centres; and cells with few points to a centre save little. Measured (Sapphire Rapids) with
 * 20,000 to 200,000 points, 2 to 1024 centres, 1 to 108 iterations. How many it takes until nothing
 * changes nobody knows; rarely less than a dozen. The same for all ranks.
 */
static bool pays(const struct problem *p)
{
	const double iterations = p->iterations ? (double)p->iterations : 12,
		     k = p->k * (p->points.real == FLOAT ? 0.5 : 1);

	return points_of_share(p) / p->k >= 32 && iterations * (32 + k) >= 300 * p->points.d;
}

static void build(struct share *s, const struct stage *g)
{
	struct index *x = s->memory;

	cells_lay_out(x, s->n, g->d, g->k, g->real);
	for (unsigned c = 0; c < g->k; c++)
		x->all[c] = c;
	form(g)->build(s, g);
}

static void assign(struct share *s, const struct stage *g)
{
	form(g)->assign(s, g);
}

static void labels(struct share *s, const struct stage *g)
{
	form(g)->labels(s, g);
}

const struct method cells = { "cells", fits, pays, cells_bytes, build, assign, labels };
