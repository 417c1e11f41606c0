/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arithmetic.h"
#include "base/sysfs.h"
#include "bench/numa/contents.h"
#include "bench/numa/size.h"
#include "machine/limits/limits.h"
#include "machine/topology/topology.h"

#define PUBLISHED_SIZE (UINT64_C(8) << 30)
#define PLACEMENTS     6 /* variants, without the matrix */

static uint64_t power_below(uint64_t bytes)
{
	return bytes ? UINT64_C(1) << (63 - __builtin_clzll(bytes)) : 0;
}

static uint64_t power_above(uint64_t bytes)
{
	return bytes > 1 ? 2 * power_below(bytes - 1) : bytes;
}

static uint64_t memory_of(const struct machine *m)
{
	struct memory_limit limit;
	uint64_t sum = 0;

	if (m->running) {
		memory_limit_read(SYSFS_ROOT, &limit);
		return limit.available;
	}
	for (unsigned i = 0; i < m->nodes; i++)
		sum += m->node[i].memory;
	return sum ? sum : NO_LIMIT;
}

/*
 * Small enough that the arrays of all placements, which are sampled in turn, fit into memory
 * together, and at least 4 times the last cache. If memory is too small for both, exceeding the
 * cache has priority.
 */
uint64_t numa_size(const struct machine *m, enum profile profile)
{
	const uint64_t share = memory_of(m) / 10 * 8 / ARRAYS,
		       beyond_caches = power_above(4 * m->last_cache);
	uint64_t size = power_below(share / PLACEMENTS);

	(void)profile;
	if (size < beyond_caches)
		size = smaller(power_below(share), beyond_caches);
	return smaller(size, PUBLISHED_SIZE);
}
