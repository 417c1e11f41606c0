/* SPDX-License-Identifier: Apache-2.0 */
/* Orders of CPUs: close, spread, or a list. */
#include "machine/topology/topology.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/why.h"

static void take(struct cpu_order *order, const struct cpu *cpu)
{
	order->cpu[order->n++] = cpu;
}

/*
 * A core's rank (0: first) if the branches at each fork of the tree (packages, nodes, caches) take
 * turns, and a branch drops out when its cores are used up. Computed from the core upwards: its
 * rank in the parent is the number of cores served before it.
 */
static unsigned spread_rank(hwloc_obj_t object)
{
	unsigned rank = 0;

	for (hwloc_obj_t parent = object->parent; parent;
	     object = parent, parent = object->parent) {
		unsigned before = 0;

		for (unsigned i = 0; i < parent->arity; i++) {
			unsigned cores = (unsigned)(uintptr_t)parent->children[i]->userdata;
			unsigned turns = rank + (i < object->sibling_rank);

			before += cores < turns ? cores : turns;
		}
		rank = before;
	}
	return rank;
}

/*
 * A core's place in one order for any number of threads: the first n CPUs are spread for each n.
 * hwloc_distrib() needs n, and places in proportion to the CPUs: 4 threads on nodes with 6 and 2
 * CPUs become 3 and 1, where 2 and 2 have more bandwidth.
 */
static unsigned spread_place(const struct machine *m, const struct cpu *cpu)
{
	return spread_rank(hwloc_get_pu_obj_by_os_index(m->topology, (unsigned)cpu->number));
}

/* Fast kinds before slow ones; cores of a kind stay in their order. */
static void fast_first(const struct machine *m, struct cpu_order *order)
{
	for (unsigned i = 1, j; i < order->n; i++) {
		const struct cpu *cpu = order->cpu[i];

		for (j = i; j && kinds_rank(m, order->cpu[j - 1]) > kinds_rank(m, cpu); j--)
			order->cpu[j] = order->cpu[j - 1];
		order->cpu[j] = cpu;
	}
}

/* Siblings follow their core's first CPU in m->cpu. */
static void take_siblings(const struct machine *m, struct cpu_order *order)
{
	for (unsigned sibling = 1; order->n < m->cpus; sibling++)
		for (unsigned core = 0; core < m->cores; core++) {
			const struct cpu *cpu = order->cpu[core] + sibling;

			if (cpu < m->cpu + m->cpus && cpu->core == order->cpu[core]->core)
				take(order, cpu);
		}
}

/* All cores, in the machine's order or spread, before any SMT sibling. */
static void order_cores(const struct machine *m, bool spread, struct cpu_order *order)
{
	unsigned core = 0;

	for (unsigned i = 0; i < m->cpus; i++)
		if (m->cpu[i].sibling == 0)
			order->cpu[spread ? spread_place(m, &m->cpu[i]) : core++] = &m->cpu[i];
	order->n = m->cores;
	for (core = 0; core < order->n; core++)
		assert(order->cpu[core]); /* each place has a core by now */
	fast_first(m, order);
	take_siblings(m, order);
}

/* Takes a CPU of a list. An unknown CPU is only noted, so that one message can name them all. */
static int take_number(const struct machine *m, const char *list, unsigned number,
		       struct cpu_order *order, hwloc_bitmap_t unknown, const char **why)
{
	const struct cpu *cpu = machine_cpu(m, (int)number);

	if (!cpu)
		return hwloc_bitmap_set(unknown, number);
	for (unsigned i = 0; i < order->n; i++)
		if (order->cpu[i] == cpu)
			return why_misunderstood(why_fail(why,
							  "CPU %u is twice in \"%.100s\"; expected "
							  "each once (" CPU_ORDER_OVERSUBSCRIBE ")",
							  number, list));
	take(order, cpu);
	return 0;
}

static unsigned highest_cpu(const struct machine *m)
{
	int highest = 0;

	for (unsigned i = 0; i < m->cpus; i++)
		highest = m->cpu[i].number > highest ? m->cpu[i].number : highest;
	return (unsigned)highest;
}

/*
 * Takes the CPUs of a range. CPUs beyond the highest are noted as unknown all at once; in a range
 * with a step, only the first of them.
 */
static int take_range(const struct machine *m, const char *list, const unsigned range[2],
		      unsigned step, struct cpu_order *order, hwloc_bitmap_t unknown,
		      const char **why)
{
	const unsigned highest = highest_cpu(m);
	unsigned number = range[0];

	for (; number <= range[1] && number <= highest; number += step)
		if (take_number(m, list, number, order, unknown, why))
			return -1;
	if (number > range[1])
		return 0;
	return hwloc_bitmap_set_range(unknown, number, (int)(step == 1 ? range[1] : number));
}

static int take_numbers(const struct machine *m, const char *list, struct cpu_order *order,
			hwloc_bitmap_t unknown, const char **why)
{
	const char *at = list;
	char numbers[NUMBER_LIST_TEXT];

	for (;; at++) {
		unsigned range[2], step = 1;

		if (!number_at(&at, NUMBER_LIST_MOST, &range[0]))
			break;
		range[1] = range[0];
		if (*at == '-' && (at++, !number_at(&at, NUMBER_LIST_MOST, &range[1])))
			break;
		if (*at == ':' && (at++, !number_at(&at, NUMBER_LIST_MOST, &step) || !step))
			break;
		if (range[1] < range[0])
			break;
		if (take_range(m, list, range, step, order, unknown, why))
			return -1;
		if (!*at)
			return 0;
		if (*at != ',')
			break;
	}
	return why_misunderstood(
		why_fail(why,
			 "can't bind to \"%.100s\"; expected close, spread, float, or a "
			 "list of CPUs such as \"0,2-5\" (usable: %s)",
			 list, cpu_list(m, ALL_NODES, numbers)));
}

int order_list(const struct machine *m, const char *list, struct cpu_order *order, const char **why)
{
	hwloc_bitmap_t unknown = hwloc_bitmap_alloc();
	char missing[NUMBER_LIST_TEXT], numbers[NUMBER_LIST_TEXT];
	int status = unknown ? take_numbers(m, list, order, unknown, why)
			     : why_fail(why, "out of memory");
	bool one = unknown && hwloc_bitmap_weight(unknown) == 1;

	if (!status && !hwloc_bitmap_iszero(unknown))
		status = why_misunderstood(why_fail(
			why,
			"CPU%s %s of \"%.100s\" %s not there, or this process "
			"may not use %s; usable: %s",
			one ? "" : "s", number_list_text(unknown, missing), list,
			one ? "is" : "are", one ? "it" : "them", cpu_list(m, ALL_NODES, numbers)));
	hwloc_bitmap_free(unknown);
	return status;
}

bool order_is_float(const char *bind)
{
	return !strcmp(bind, "float");
}

bool order_is_word(const char *bind)
{
	return !strcmp(bind, "close") || !strcmp(bind, "spread") || order_is_float(bind);
}

int order_by(const struct machine *m, const char *bind, struct cpu_order *order, const char **why)
{
	if (!order_is_word(bind))
		return order_list(m, bind, order, why);
	order_cores(m, !strcmp(bind, "spread"), order);
	return 0;
}
