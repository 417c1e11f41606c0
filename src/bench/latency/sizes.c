/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sysfs.h"
#include "bench/latency/chase.h"
#include "bench/latency/sizes.h"
#include "machine/limits/limits.h"
#include "machine/topology/topology.h"

/* bytes: least size of the largest working set, in case cache sizes are unknown */
#define LEAST_TOP (UINT64_C(64) << 20)
/*
 * bytes: trials that touch more are measured alone, since those sampled in turn evict each other's
 */
#define SHARED_CACHES (UINT64_C(1) << 20)

static size_t stride_of(const struct trial *t)
{
	return t->value[STRIDE].count ? t->value[STRIDE].count : t->machine->line;
}

struct chain chain_of(const struct trial *t)
{
	return (struct chain){ .pattern = way_of(t)->pattern,
			       .bytes = t->value[BYTES].count,
			       .stride = stride_of(t),
			       .page = t->machine->page,
			       .line = t->machine->line,
			       .seed = t->seed + t->allocation };
}

/* At least 4 times the last cache, but no more than half of the available memory. */
uint64_t beyond_caches(const struct machine *m, enum profile profile)
{
	uint64_t top = 4 * m->last_cache > LEAST_TOP ? 4 * m->last_cache : LEAST_TOP;
	struct memory_limit limit = { .available = NO_LIMIT };

	(void)profile;
	if (m->running)
		memory_limit_read(SYSFS_ROOT, &limit);
	while (top > limit.available / 2 && top > m->page)
		top /= 2;
	return top;
}

/* All background threads' lines together exceed the caches, too. */
size_t background_bytes(const struct trial *t)
{
	size_t each = beyond_caches(t->machine, QUICK) / (t->threads > 1 ? t->threads - 1 : 1);

	return each > (1 << 24) ? each / t->machine->page * t->machine->page : 1 << 24;
}

/* Bytes of the lines that the chain touches: with one element a page far less than its pages. */
static uint64_t touched(const struct chain *c)
{
	const uint64_t lines = chain_elements(c) * c->line;

	return lines < c->bytes ? lines : c->bytes;
}

/*
 * One round through the chain fills the caches; near the size of the last cache it takes two. Far
 * more lines need no warm-up.
 */
static uint64_t warm(const struct trial *t)
{
	const struct chain c = chain_of(t);
	const uint64_t bytes = touched(&c), elements = chain_elements(&c);

	if (t->machine->last_cache && bytes > 2 * t->machine->last_cache)
		return 0;
	return bytes > t->machine->last_cache / 2 ? 2 * elements : elements;
}

/* NULL: the trial makes sense. */
static const char *pointless(const struct trial *t)
{
	const struct chain c = chain_of(t);
	const unsigned chains =
		t->value[CHAINS].count <= MOST_CHAINS ? (unsigned)t->value[CHAINS].count : 0;

	if ((t->threads > 1) != way_of(t)->loaded)
		return "loaded needs two threads or more, all other variants have one";
	if (!chase_choose(chains, t->value[ELEMENT].choice == INT))
		return "--chains: 1, 2, 3, 4, 6, 8, 12, 16, 24 or 32 of pointers, 1 of ints";
	if (c.stride % (t->value[ELEMENT].choice == INT ? sizeof(int) : sizeof(void *)) ||
	    !c.stride || c.stride > c.page)
		return "--stride: a multiple of the element's size, 8 bytes (4 for ints), and at "
		       "most a page";
	if (t->value[ELEMENT].choice == INT && c.bytes / sizeof(int) > INT32_MAX)
		return "--size: at most 8G of ints, whose indexes fit an int";
	if (chain_elements(&c) < (size_t)2 * chains)
		return "the working set has less than two elements for each chain; choose a larger "
		       "size";
	return NULL;
}

struct needs latency_needs(const struct trial *t)
{
	const enum pages pages = t->value[PAGES].choice;
	const struct chain c = chain_of(t);
	struct needs n = { .pointless = pointless(t) };

	if (n.pointless)
		return n;
	n.bytes = region_takes(t->machine, t->value[BYTES].count, pages) +
		  (t->threads - 1) * region_takes(t->machine, background_bytes(t), pages);
	n.units = t->value[LOADS].count;
	n.warm = warm(t);
	n.alone = touched(&c) > SHARED_CACHES || way_of(t)->loaded;
	return n;
}
