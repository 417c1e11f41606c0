/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Brute force in tiles of registers: no header, but what tiles.c has included once for each
 * instruction set and type (vectors.h).
 *
 * Points are in lanes: a block is VECTORS vectors of them, dimension by dimension. Of ROWS centres
 * the scores of a whole block are in registers, so a value of a centre, loaded once into all lanes,
 * serves VECTORS multiplications, and a value of a point ROWS. Which centre was nearest is looked
 * at for each GROUP of them.
 */
/* As many as there are registers for: of 32, 24 scores, 3 values of points, one of a centre. */
#if WIDTH == 64
#define VECTORS 3
#define ROWS	8
#define GROUP	LANES
#elif WIDTH == 32 /* 16 registers: 12 scores */
#define VECTORS 3
#define ROWS	4
#define GROUP	8u
#else
#define VECTORS 2
#define ROWS	4
#define GROUP	(2 * LANES)
#endif
#define BLOCK ((size_t)VECTORS * LANES) /* points */

#include "bench/kmeans/tiles_nearest.h"
#include "bench/kmeans/tiles_rows.h"

static const struct tiles
	NAME(tiles) = { BLOCK,		 GROUP,	       LANES,	      NAME(pack),
			NAME(transpose), NAME(box),    NAME(nearest), NAME(nearest_two),
			NAME(of_group),	 NAME(relate), NAME(square),  NAME(lower),
			NAME(near),	 NAME(move),   NAME(spin) };

#undef VECTORS
#undef ROWS
#undef GROUP
#undef BLOCK
