/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/sysfs.h"
#include "bench/latency/chain.h"
#include "bench/latency/latency.h"
#include "machine/limits/limits.h"
#include "machine/topology/topology.h"

/* bytes: least size of the largest working set, in case cache sizes are unknown */
#define LEAST_TOP (UINT64_C(64) << 20)
/*
 * bytes: trials that touch more are measured alone, since those sampled in turn evict each other's
 */
#define SHARED_CACHES (UINT64_C(1) << 20)
/* bytes: preparing larger sizes for each kind of pages takes most of latency's time in a suite */
#define QUICK_TOP (UINT64_C(64) << 20)

/* GB/s: no node has enough cores to use more */
#define MOST_RATE 1024

/*
 * bytes of a background thread's lines, at least: a block fits into the first; the second exceeds
 * the thread's own caches, and applies unless the user sets the size
 */
#define LEAST_LOAD ((size_t)64 << 10)
#define EACH_LOAD  ((size_t)16 << 20)

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

/* More than a core's memory bandwidth, and round: rates are powers of two. */
uint64_t most_rate(const struct machine *m, enum profile profile)
{
	const unsigned nodes = machine_cpu_nodes(m), cores = m->cores / (nodes ? nodes : 1);
	uint64_t rate = 16;

	(void)profile;
	while (rate < 16 * (uint64_t)cores && rate < MOST_RATE)
		rate *= 2;
	return rate;
}

/*
 * Unless the user sets their number, all background threads' lines together also exceed the caches.
 */
size_t background_bytes(const struct trial *t)
{
	const uint64_t asked = t->value[LOAD_BYTES].count,
		       all = asked ? asked : beyond_caches(t->machine, QUICK),
		       least = asked ? LEAST_LOAD : EACH_LOAD;
	const size_t each = all / (t->threads > 1 ? t->threads - 1 : 1);

	return each > least ? each / t->machine->page * t->machine->page : least;
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

/* Why the trial makes no sense; NULL: it does. */
static const char *pointless(const struct trial *t)
{
	const struct chain c = chain_of(t);
	const unsigned chains =
		t->value[CHAINS].count <= MOST_CHAINS ? (unsigned)t->value[CHAINS].count : 0;

	if ((t->threads > 1) != way_of(t)->loaded)
		return "loaded needs at least two threads; all other variants use one";
	if (!chase_choose(chains, t->value[ELEMENT].choice == INT))
		return "--chains: 1, 2, 3, 4, 6, 8, 12, 16, 24 or 32 of pointers, 1 of ints";
	if (c.stride % (t->value[ELEMENT].choice == INT ? sizeof(int) : sizeof(void *)) ||
	    !c.stride || c.stride > c.page)
		return "--stride: a multiple of the element's size, 8 bytes (4 for ints), and at "
		       "most a page";
	if (t->value[ELEMENT].choice == INT && c.bytes / sizeof(int) > INT32_MAX)
		return "--size: at most 8G of ints, so that an int can hold their indexes";
	if (chain_elements(&c) < (size_t)2 * chains)
		return "the working set has less than two elements for each chain; choose a larger "
		       "size";
	return NULL;
}

/* The node of the memory that the first thread of a layout ("0+8") touches. */
static int local_node(const struct machine *m, const char *layout)
{
	for (unsigned i = 0; layout && i < m->nodes; i++) {
		if (!m->node[i].cores)
			continue;
		if (strtoul(layout, NULL, 10))
			return m->node[i].first_touch;
		layout = strchr(layout, '+');
		layout = layout ? layout + 1 : NULL;
	}
	return -1;
}

/*
 * The background loads the node of the chain's memory, by default the node next to the threads.
 * Without writes, the kind of stores makes no difference.
 */
const char *latency_resolve(const struct trial *t, union value *value, uint64_t given)
{
	int local;

	if (!way_of(t)->loaded)
		return NULL;
	local = local_node(t->machine, value[FROM].text);
	if (!(given & BIT(TO)) && local >= 0)
		value[TO].count = (uint64_t)local;
	if (value[MIX].choice == MIX_READ)
		value[STORES].choice = STORES_NONTEMPORAL;
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
	n.touched = way_of(t)->loaded ? 0 : touched(&c);
	if (pages == PAGES_BASE && t->value[BYTES].count > QUICK_TOP)
		n.lengthy = "base pages beyond 64 MiB take a suite too long; locus latency "
			    "measures them";
	n.units = t->value[LOADS].count;
	n.warm = warm(t);
	n.alone = touched(&c) > SHARED_CACHES || way_of(t)->loaded;
	return n;
}
