/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loops of the method `cells`. No header: vectors.h includes it into cells.c once for each
 * instruction set and type. INLINE functions are called with d = 1, 2 and 3, as constants.
 */
#define TILE  ((unsigned)(TILE_BYTES / sizeof(REAL)))
#define EVERY ((1u << LANES) - 1)

#define EPSILON _Generic((REAL)0, float : (double)FLT_EPSILON, default : DBL_EPSILON)
#define INLINE	TARGET UNROLL_INLINE

/* Value j of the i-th point of a cell's tiles; j = d: its label. */
#define LANE(tile, i, j) (tile)[((size_t)((i) / TILE) * (d + 1) + (j)) * TILE + (i) % TILE]

#include "bench/kmeans/cells_build.h"
#include "bench/kmeans/cells_look.h"
#include "bench/kmeans/cells_assign.h"

/* Each worker has the labels of its cells; then it takes those of its points as given. */
INLINE void NAME(labels)(struct share *s, unsigned d)
{
	const struct index *x = s->memory;
	uint32_t *const by_place = s->joint->label;

	for (const struct cell *cell = x->cell; cell < x->cell + x->cells; cell++) {
		const REAL *tile = (const REAL *)x->tile + (size_t)cell->first * TILE * (d + 1);
		const uint32_t *from = x->from + (size_t)cell->first * TILE;

		for (uint32_t i = 0; i < cell->points; i += TILE) {
			const uint32_t n = cell->points - i < TILE ? cell->points - i : TILE;

			for (uint32_t lane = 0; lane < n; lane++)
				by_place[from[i + lane]] = (uint32_t)tile[(size_t)d * TILE + lane];
			tile += (size_t)TILE * (d + 1);
		}
	}
	share_meet(s);
	for (size_t i = 0; i < s->n; i++)
		s->label[i] = by_place[x->place[i]];
}

TARGET static void NAME(build_any)(struct share *s, const struct stage *g)
{
	if (g->d == 1)
		NAME(build)(s, g, 1);
	else if (g->d == 2)
		NAME(build)(s, g, 2);
	else
		NAME(build)(s, g, 3);
}

TARGET static void NAME(assign_any)(struct share *s, const struct stage *g)
{
	if (g->d == 1)
		NAME(assign)(s, g, 1);
	else if (g->d == 2)
		NAME(assign)(s, g, 2);
	else
		NAME(assign)(s, g, 3);
}

TARGET static void NAME(labels_any)(struct share *s, const struct stage *g)
{
	if (g->d == 1)
		NAME(labels)(s, 1);
	else if (g->d == 2)
		NAME(labels)(s, 2);
	else
		NAME(labels)(s, 3);
}

static const struct form NAME(form) = { NAME(build_any), NAME(assign_any), NAME(labels_any) };

#undef LANE
#undef INLINE
#undef EVERY
#undef TILE
#undef EPSILON
