/* SPDX-License-Identifier: Apache-2.0 */
#include "base/statistics.h"
#include "bench/cores/cores.h"

struct quanta quanta_of(double *times, size_t n)
{
	struct quanta q = { 0 };
	double sum = 0, beyond = 0;

	statistics_sort(times, n);
	q.median = statistics_quantile(times, n, 0.5);
	q.tail = statistics_quantile(times, n, 0.999);
	q.gap = times[n - 1] - q.median;
	for (size_t i = 0; i < n; i++) {
		sum += times[i];
		beyond += times[i] > QUANTA_INTERRUPTED * q.median ? times[i] - q.median : 0;
	}
	q.lost = sum > 0 ? beyond / sum : 0;
	return q;
}
