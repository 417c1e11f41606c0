/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Brute force with register tiling. No header: vectors.h includes it into tiles.c once for each
 * instruction set and type.
 *
 * Lanes are points: a block is VECTORS vectors of them, dimension by dimension. The scores of a
 * block for ROWS centres are in registers: a centre's value, broadcast once, serves VECTORS
 * multiplications, and a point's value ROWS. The nearest centre is tracked by GROUP of centres.
 */
/* As registers allow: of 32, 24 for scores, 3 for points' values, 1 for a centre's. */
#if WIDTH == 64
#define VECTORS	      3
#define ROWS	      8
#define GROUP_VECTORS 1
#define PART	      8
#elif WIDTH == 32 /* 16 registers: 12 scores */
#define VECTORS	      3
#define ROWS	      4
#define GROUP_VECTORS (8 / LANES)
#define PART	      8
#else
#define VECTORS	      2
#define ROWS	      4
#define GROUP_VECTORS 2
#define PART	      4
#endif
#define GROUP (GROUP_VECTORS * LANES) /* centres */
/* of centres: a group of doubles, and so one of floats or half of one */
_Static_assert(GROUP == PART || (GROUP / 2 == PART && PART == ROWS), "parts are stored by rows");
#define BLOCK (VECTORS * LANES) /* points */

#include "bench/kmeans/tiles_nearest.h"
#include "bench/kmeans/tiles_rows.h"

static const struct tiles NAME(tiles) = { BLOCK,
					  GROUP,
					  LANES,
					  NAME(pack),
					  NAME(transpose),
					  NAME(box),
					  NAME(nearest_two),
					  NAME(nearest_parts),
					  NAME(nearest_apart),
					  NAME(nearest_listed),
					  NAME(of_group),
					  NAME(two_of_rows),
					  NAME(scores),
					  NAME(rivals),
					  NAME(relate),
					  NAME(square),
					  NAME(squares),
					  NAME(total),
					  NAME(floats),
					  NAME(lower),
					  NAME(root),
					  NAME(near),
					  NAME(move),
					  NAME(move_rows),
					  NAME(spin) };

#undef VECTORS
#undef ROWS
#undef GROUP
#undef PART
#undef GROUP_VECTORS
#undef BLOCK
