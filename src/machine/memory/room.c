/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/memory/room.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "machine/memory/arena.h"
#include "machine/limits/limits.h"
#include "machine/memory/mapped.h"
#include "machine/memory/region.h"
#include "machine/topology/node_memory.h"
#include "machine/topology/topology.h"

/*
 * The two needs of a node: by first touch, which may fall back to another node, and by a binding
 * policy, which may not.
 */
enum { TOUCHED, BOUND, NEEDS };

/* Not for reserved huge pages, which huge.h checks. */
static void add_need(const struct region *r, int64_t *need)
{
	const struct machine *m = r->arena->machine;
	const unsigned nodes = machine_memory_nodes(m);
	size_t on[MOST_NODES + 1] = { 0 }, granules = r->bytes / r->granule, evenly;

	for (size_t i = 0; i < granules; i++)
		on[r->bound == ANY_NODE ? r->home[i] : r->bound + 1]++;
	evenly = r->even && nodes ? on[0] / nodes : 0; /* on[0]: claimed for no node */
	for (unsigned i = 0; i < m->nodes; i++) {
		const int number = m->node[i].number;
		size_t claimed = number < MOST_NODES ? on[number + 1] : 0;

		claimed += machine_has_memory(m, &m->node[i]) ? evenly : 0;
		need[NEEDS * i + (r->bound == ANY_NODE ? TOUCHED : BOUND)] +=
			(int64_t)(claimed * r->granule);
	}
}

void arena_need(const struct arena *a, int64_t *need)
{
	memset(need, 0, sizeof(*need) * NEEDS * a->machine->nodes);
	for (const struct region *r = a->regions; r; r = r->next)
		if (!r->hugetlb)
			add_need(r, need);
}

/*
 * First touch falls back to other nodes as long as these have spare memory. Only when none has any
 * is the page cache dropped for it.
 */
static uint64_t spare_elsewhere(const struct arena *a, unsigned node)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < a->machine->nodes; i++)
		if (i != node && machine_has_memory(a->machine, &a->machine->node[i]))
			sum += a->before[i].spare;
	return sum;
}

static int check_room(struct arena *a, unsigned i, uint64_t touched, uint64_t bound)
{
	const struct node_memory *m = &a->before[i];
	const uint64_t need = touched + bound, all = need + memory_beside(need),
		       share = touched / 1000; /* 0.1 % may be misplaced */
	const bool full = all > m->available;
	const bool falls = touched && all > m->spare && all - m->spare > share &&
			   spare_elsewhere(a, i) > share;
	char needed[TEXT_BYTES], more[TEXT_BYTES], there[TEXT_BYTES], total[TEXT_BYTES],
		cached[TEXT_BYTES], files[200] = "";

	if (!need || !m->total || (!full && !falls))
		return 0;
	if (!full)
		snprintf(files, sizeof(files),
			 ", and %s of cached files, for which first touch goes to another node (as "
			 "root: echo 3 > /proc/sys/vm/drop_caches)",
			 text_bytes(cached, m->available - m->spare));
	arena_cannot(a,
		     "it needs %s and %s beside it (page tables, samples) on node %d, which has %s "
		     "%s of "
		     "%s%s; choose a smaller size",
		     text_bytes(needed, need), text_bytes(more, memory_beside(need)),
		     a->machine->node[i].number, text_bytes(there, full ? m->available : m->spare),
		     full ? "available" : "free", text_bytes(total, m->total), files);
	errno = ENOMEM;
	return -1;
}

int arena_room(struct arena *a, const int64_t *need)
{
	for (unsigned i = 0; a->before && i < a->machine->nodes; i++)
		if (check_room(a, i, (uint64_t)need[NEEDS * i + TOUCHED],
			       (uint64_t)need[NEEDS * i + BOUND]))
			return -1;
	return 0;
}

int arena_has_room(struct arena *a)
{
	int64_t need[NEEDS * a->machine->nodes];

	arena_need(a, need);
	return arena_room(a, need);
}
