/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "bench/kmeans/tiles.h"
#include "bench/kmeans/rate.h"
#include "machine/clock.h"

double rate_fma(enum real real)
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
