/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loops of the method `cells`. No header: vectors.h includes it into cells.c once for each
 * instruction set and type. INLINE functions are called with d = 1, 2 and 3, as constants.
 */
#define EVERY ((1u << LANES) - 1)

#define EPSILON	 _Generic((REAL)0, float: (double)FLT_EPSILON, default: DBL_EPSILON)
#define IS_FLOAT (sizeof(REAL) == sizeof(float))
#define INLINE	 TARGET UNROLL_INLINE

/* Value j of the i-th point of a cell's tiles; j = d: its label. */
#define LANE(tile, i, j) (tile)[((size_t)((i) / TILE) * (d + 1) + (j)) * TILE + (i) % TILE]

#include "bench/kmeans/cells_build.h"
#include "bench/kmeans/cells_look.h"

TARGET static void NAME(build_any)(struct share *s, const struct stage *g)
{
	if (g->d == 1)
		NAME(build)(s, g, 1);
	else if (g->d == 2)
		NAME(build)(s, g, 2);
	else
		NAME(build)(s, g, 3);
}

TARGET static void NAME(look_any)(struct index *x, struct cell *cell, const struct stage *g,
				  double pace)
{
	if (g->d == 1)
		NAME(look)(x, cell, g, pace, 1);
	else if (g->d == 2)
		NAME(look)(x, cell, g, pace, 2);
	else
		NAME(look)(x, cell, g, pace, 3);
}

static const struct form NAME(form) = { NAME(build_any), NAME(look_any) };

#undef LANE
#undef INLINE
#undef IS_FLOAT
#undef EVERY
#undef EPSILON
