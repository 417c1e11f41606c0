/* SPDX-License-Identifier: Apache-2.0 */
/* The arena of a trial, and whether the nodes have room for it. */
#include "machine/memory/arena.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/sysfs.h"
#include "base/text.h"
#include "machine/limits/limits.h"
#include "machine/memory/mapped.h"
#include "machine/memory/region.h"
#include "machine/topology/topology.h"

/* the refusal if there is no memory for its text */
static const char out_of_memory[] = "out of memory";

struct arena *arena_open_at(const char *root, const struct machine *machine)
{
	struct arena *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->machine = machine;
	if (root && machine_memory_nodes(machine) > 1)
		a->before = calloc(machine->nodes, sizeof(*a->before));
	for (unsigned i = 0; a->before && i < machine->nodes; i++)
		if (node_memory_read(root, machine->node[i].number, &a->before[i]))
			a->before[i] = (struct node_memory){ 0 };
	return a;
}

struct arena *arena_open(const struct machine *machine)
{
	return arena_open_at(machine->running ? SYSFS_ROOT : NULL, machine);
}

void region_free(struct region *r)
{
	if (r->reserved)
		munmap(r->reserved, r->reserved_bytes);
	free(r->name);
	free(r->home);
	free(r->user);
	free(r);
}

void arena_close(struct arena *a)
{
	if (!a)
		return;
	for (struct region *r = a->regions, *next; r; r = next) {
		next = r->next;
		region_free(r);
	}
	if (a->refusal != out_of_memory)
		free(a->refusal);
	free(a->before);
	free(a);
}

/* The kernel's NUMA balancing also leaves inaccessible memory alone. */
void arena_shut(const struct arena *a)
{
	for (const struct region *r = a->regions; r; r = r->next)
		mprotect(r->base, r->bytes, PROT_NONE);
}

size_t arena_asked(const struct arena *a)
{
	size_t asked = 0;

	for (const struct region *r = a->regions; r; r = r->next)
		asked += r->asked;
	return asked;
}

const char *arena_refusal(const struct arena *a)
{
	return a->refusal;
}

void *arena_cannot(struct arena *a, const char *format, ...)
{
	va_list arguments;
	int error = errno;

	if (a->refusal != out_of_memory)
		free(a->refusal);
	va_start(arguments, format);
	if (vasprintf(&a->refusal, format, arguments) < 0)
		a->refusal = (char *)out_of_memory;
	va_end(arguments);
	errno = error;
	return NULL;
}

/* --- room on the nodes --- */

/*
 * The two needs of a node: pages placed by first touch, which may fall back to another node, and by
 * a binding policy, which may not.
 */
enum { TOUCHED, BOUND, NEEDS };

/* Ignores reserved huge pages, which huge.h checks. */
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
 * Memory of other nodes, to which first touch falls back as long as they have some to spare. Only
 * if none has any is the page cache dropped for it.
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
	const uint64_t need = touched + bound, all = need + memory_overhead(need),
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
		     "it needs %s, and %s for page tables and samples, on node %d, which has %s %s "
		     "of %s%s; choose a smaller size",
		     text_bytes(needed, need), text_bytes(more, memory_overhead(need)),
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
