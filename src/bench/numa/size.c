/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arithmetic.h"
#include "base/sysfs.h"
#include "bench/numa/contents.h"
#include "bench/numa/size.h"
#include "machine/limits/limits.h"
#include "machine/topology/topology.h"

#define PUBLISHED_SIZE (UINT64_C(8) << 30)
#define QUICK_SIZE     (UINT64_C(128) << 20)
#define PLACEMENTS     8 /* variants that are sampled in turn: all but the matrix */

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
 * quick: 128 MiB, or more than all last-level caches of the machine hold together. Otherwise small
 * enough that the arrays of all placements, which are sampled in turn, fit into memory together,
 * and at least 4 times those caches (as STREAM's rules have it). If memory is too small for both,
 * exceeding the caches has priority.
 */
static uint64_t at_least(uint64_t bytes)
{
	return bytes < QUICK_SIZE ? QUICK_SIZE : bytes;
}

uint64_t numa_size(const struct machine *m, enum profile profile)
{
	const uint64_t share = memory_of(m) / 10 * 8 / ARRAYS,
		       beyond_caches = power_above(4 * m->all_caches);
	uint64_t size = power_below(share / PLACEMENTS);

	if (profile == QUICK)
		return at_least(smaller(power_below(share), power_above(m->all_caches + 1)));
	if (size < beyond_caches)
		size = smaller(power_below(share), beyond_caches);
	return smaller(size, PUBLISHED_SIZE);
}
