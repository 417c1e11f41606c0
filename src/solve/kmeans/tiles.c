/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "kit/instructions.h"
#include "machine/clock.h"
#include "solve/kmeans/kmeans.h"
#include "solve/kmeans/tiles.h"

#define LOOPS "solve/kmeans/tiles_loops.h"
#include "solve/kmeans/vectors.h"

/* Tiles, the widest vectors first. */
static const struct {
	enum isa needs;
	const struct tiles *of[2];
} all[] = {
#ifdef __x86_64__
	{ ISA_AVX512,
	  { [REAL_DOUBLE] = &tiles_avx512_double, [REAL_FLOAT] = &tiles_avx512_float } },
	{ ISA_AVX2, { [REAL_DOUBLE] = &tiles_avx2_double, [REAL_FLOAT] = &tiles_avx2_float } },
#endif
	{ ISA_BASELINE,
	  { [REAL_DOUBLE] = &tiles_baseline_double, [REAL_FLOAT] = &tiles_baseline_float } },
};

const struct tiles *tiles_usable(unsigned i, enum real real)
{
	for (unsigned set = 0; set < sizeof(all) / sizeof(*all); set++)
		if (isa_usable(all[set].needs) && i-- == 0)
			return all[set].of[real];
	return NULL;
}

const struct tiles *tiles_choose(enum real real)
{
	return tiles_usable(0, real);
}

struct packed packed_carve(struct carver *c, unsigned d, unsigned k, enum real real)
{
	const unsigned group = tiles_choose(real)->group, groups = (k + group - 1) / group;
	const size_t halves = (size_t)groups * group * real_bytes(real);
	void *half = carve(c, halves);

	return (struct packed){ d, k, groups, carve(c, halves * d), half };
}

double kmeans_peak_rate(enum real real)
{
	_Alignas(64) double value[8] = { 0 };
	const struct tiles *t = tiles_choose(real);
	double least = INFINITY, begin, time;

	for (int i = 0; i < 8; i++) {
		begin = clock_now();
		t->spin(value, 40000);
		time = clock_now() - begin;
		least = time < least ? time : least;
	}
	return 40000 * CHAINS * t->lanes / least;
}
