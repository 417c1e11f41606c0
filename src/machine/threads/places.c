/* SPDX-License-Identifier: Apache-2.0 */
/* Places threads: by --bind, or by a layout, which says how many threads sit on each node. */
#include "machine/threads/team.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "base/text.h"
#include "base/why.h"
#include "machine/topology/topology.h"

/* --- places by --bind --- */

static struct place place_of(const struct cpu *cpu)
{
	assert(cpu);
	return (struct place){ .cpu = cpu->number, .node = cpu->node };
}

int machine_bind(const struct machine *m, const char *bind, unsigned n, bool oversubscribe,
		 struct place *place, const char **why)
{
	struct cpu_order order = { 0, calloc(m->cpus, sizeof(*order.cpu)) };
	int status = 0;

	if (!order.cpu)
		return why_fail(why, "out of memory");
	status = order_by(m, bind, &order, why);
	if (!status && n > order.n && !oversubscribe)
		status = why_fail(why,
				  "%u threads don't fit on %s (bind: %.100s); expected fewer "
				  "(" CPU_ORDER_OVERSUBSCRIBE ")",
				  n, text_count(order.n, "CPU").of, bind);
	for (unsigned i = 0; !status && i < n; i++)
		place[i] = place_of(order.cpu[i % order.n]);
	free(order.cpu);
	return status;
}

/* --- places by a layout --- */

/* most threads of a layout on one node, so that sums do not overflow */
#define MOST_THREADS (1u << 20)

/* The i-th node with CPUs. */
static const struct node *cpu_node(const struct machine *m, unsigned i)
{
	for (unsigned n = 0; n < m->nodes; n++)
		if (m->node[n].cores && !i--)
			return &m->node[n];
	return NULL;
}

/*
 * Reads up to `most` numbers joined by "+" (count may be NULL). Returns how many; 0: not a layout.
 */
static unsigned read_layout(const char *layout, unsigned *count, unsigned most)
{
	for (unsigned n = 0, threads; n < most && number_at(&layout, MOST_THREADS, &threads);
	     layout++) {
		if (count)
			count[n] = threads;
		n++;
		if (!*layout)
			return n;
		if (*layout != '+')
			return 0;
	}
	return 0;
}

unsigned machine_layout_threads(const char *layout)
{
	unsigned sum = 0;

	if (!read_layout(layout, NULL, UINT_MAX))
		return 0;
	for (const char *at = layout; at; at = strchr(at, '+')) {
		at += *at == '+';
		sum += (unsigned)strtoul(at, NULL, 10);
	}
	return sum;
}

/* Places n threads on one node, on its CPUs in the given order. */
static int place_on_node(const char *layout, const struct node *node, unsigned n,
			 bool oversubscribe, const struct cpu_order *order, struct place *place,
			 const char **why)
{
	unsigned placed = 0;

	if (n > node->cpus && !oversubscribe)
		return why_fail(
			why,
			"layout %.100s asks for %u threads on node %d, which has %s; expected "
			"fewer (" CPU_ORDER_OVERSUBSCRIBE ")",
			layout, n, node->number, text_count(node->cpus, "CPU").of);
	assert(node->cpus); /* nodes of layouts have CPUs */
	for (unsigned i = 0; placed < n; i = (i + 1) % order->n)
		if (order->cpu[i]->node == node->number)
			place[placed++] = place_of(order->cpu[i]);
	return 0;
}

int machine_layout(const struct machine *m, const char *layout, const char *bind,
		   bool oversubscribe, struct place *place, const char **why)
{
	unsigned nodes = machine_cpu_nodes(m);
	unsigned *count = calloc(nodes, sizeof(*count));
	struct cpu_order order = { 0, calloc(m->cpus, sizeof(*order.cpu)) };
	char numbers[NUMBER_LIST_TEXT];
	int status = 0;

	if (!count || !order.cpu)
		status = why_fail(why, "out of memory");
	else if (read_layout(layout, count, nodes) != nodes || !machine_layout_threads(layout))
		status = why_fail(
			why,
			"layout %.100s is not one of this machine; expected threads on each "
			"of its nodes with CPUs (%s), as \"%s\"",
			layout, cpu_node_list(m, numbers), nodes == 1 ? "2" : "2+0");
	else
		status = order_by(m, order_is_word(bind) ? bind : "close", &order, why);
	for (unsigned i = 0; !status && i < nodes; place += count[i], i++)
		status = place_on_node(layout, cpu_node(m, i), count[i], oversubscribe, &order,
				       place, why);
	free(count);
	free(order.cpu);
	return status;
}

/* A node's index among those with CPUs; -1: it has none. */
static int index_of(const struct machine *m, int number)
{
	for (unsigned i = 0; i < machine_cpu_nodes(m); i++)
		if (cpu_node(m, i)->number == number)
			return (int)i;
	return -1;
}

static int expand_node(const struct machine *m, const char *word, unsigned threads, unsigned *count,
		       const char **why)
{
	char numbers[NUMBER_LIST_TEXT];
	const char *at = word + strlen("node:");
	unsigned number;
	bool known = number_at(&at, INT_MAX, &number) && !*at && machine_node(m, (int)number);
	int node = known ? index_of(m, (int)number) : -1;

	if (node < 0)
		return why_fail(why, "layout %.100s: %s; nodes with CPUs: %s", word,
				known ? "that node has no CPUs that this process may use"
				      : "there is no such node",
				cpu_node_list(m, numbers));
	count[node] = threads ? threads : machine_node(m, (int)number)->cores;
	return 0;
}

/*
 * The index of the node with most cores of the fastest kind, then most cores, then most CPUs, then
 * the lowest number.
 */
static unsigned largest_node(const struct machine *m)
{
	unsigned largest = 0;

	for (unsigned i = 1; i < machine_cpu_nodes(m); i++) {
		const struct node *node = cpu_node(m, i), *best = cpu_node(m, largest);

		if (node->fast != best->fast	 ? node->fast > best->fast
		    : node->cores != best->cores ? node->cores > best->cores
						 : node->cpus > best->cpus)
			largest = i;
	}
	return largest;
}

static unsigned used_up(const struct node *node, unsigned threads)
{
	return (threads >= node->cores) + (threads >= node->cpus);
}

/* Whether one more thread fits node a, which has n threads, better than node b, which has k. */
static bool is_better(const struct node *a, unsigned n, const struct node *b, unsigned k)
{
	if (used_up(a, n) != used_up(b, k))
		return used_up(a, n) < used_up(b, k);
	return n < k || (n == k && n < a->fast && k >= b->fast);
}

/*
 * Each thread goes to a node with a free core, else to one with a free CPU, else to any. Among
 * several it prefers the node with the fewest threads, then one with a free core of the fastest
 * kind.
 */
static void split(const struct machine *m, unsigned threads, unsigned nodes, unsigned *count)
{
	const struct node *node[nodes];

	for (unsigned i = 0; i < nodes; i++)
		node[i] = cpu_node(m, i);
	for (; threads; threads--) {
		unsigned best = 0;

		for (unsigned i = 1; i < nodes; i++)
			if (is_better(node[i], count[i], node[best], count[best]))
				best = i;
		count[best]++;
	}
}

static int expand_numbers(const struct machine *m, const char *word, unsigned *count,
			  const char **why)
{
	unsigned nodes = machine_cpu_nodes(m), given = read_layout(word, NULL, UINT_MAX);
	char numbers[NUMBER_LIST_TEXT];

	if (!given)
		return why_misunderstood(
			why_fail(why,
				 "\"%.100s\" is not a layout; expected packed, split, all, "
				 "each, node:N, or threads on each node (8+8)",
				 word));
	if (given != nodes && given != 1)
		return why_fail(
			why,
			"layout %.100s has %u numbers; expected one for each node with CPUs (%s)",
			word, given, cpu_node_list(m, numbers));
	if (!machine_layout_threads(word))
		return why_misunderstood(
			why_fail(why, "layout %.100s has no thread; expected at least one", word));
	read_layout(word, count, nodes);
	return 0;
}

static unsigned sum_of(const unsigned *count, unsigned nodes)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < nodes; i++)
		sum += count[i];
	return sum;
}

/* Fills `count`: a row for each layout, a column for each node. */
static int expand(const struct machine *m, const char *word, unsigned threads, unsigned nodes,
		  unsigned *count, const char **why)
{
	unsigned largest = largest_node(m), sum;

	if (!strcmp(word, "packed")) {
		count[largest] = threads ? threads : cpu_node(m, largest)->cores;
	} else if (!strcmp(word, "split")) {
		split(m, threads ? threads : cpu_node(m, largest)->cores, nodes, count);
	} else if (!strcmp(word, "each")) {
		for (unsigned i = 0; i < nodes; i++)
			count[i * nodes + i] = threads ? threads : cpu_node(m, i)->cores;
	} else if (!strncmp(word, "node:", strlen("node:"))) {
		return expand_node(m, word, threads, count, why);
	} else if (!strcmp(word, "all")) {
		for (unsigned i = 0; i < nodes; i++)
			count[i] = cpu_node(m, i)->cores;
	} else if (expand_numbers(m, word, count, why)) {
		return -1;
	}
	sum = sum_of(count, nodes);
	if (strcmp(word, "each") && threads && threads != sum)
		return why_misunderstood(why_fail(
			why, "layout %.100s has %s, not the %u asked for; give one of the two",
			word, text_count(sum, "thread").of, threads));
	return 0;
}

/* Returns one block: the pointers, then their texts. */
static char **write_layouts(const unsigned *count, unsigned layouts, unsigned nodes)
{
	size_t most = nodes * sizeof("4294967295+");
	char **list = malloc(layouts * (sizeof(*list) + most)), *at;

	if (!list)
		return NULL;
	at = (char *)(list + layouts);
	for (unsigned l = 0; l < layouts; l++, at++) {
		list[l] = at;
		for (unsigned i = 0; i < nodes; i++)
			at += sprintf(at, i ? "+%u" : "%u", count[l * nodes + i]);
	}
	return list;
}

char **machine_layouts(const struct machine *m, const char *word, unsigned threads, unsigned *n,
		       const char **why)
{
	unsigned nodes = machine_cpu_nodes(m), layouts = strcmp(word, "each") ? 1 : nodes;
	unsigned *count = calloc((size_t)layouts * nodes, sizeof(*count));
	char **list = NULL;

	assert(nodes);
	if (threads > MOST_THREADS)
		why_set(why, "%u threads are too many; at most %u are possible", threads,
			MOST_THREADS);
	else if (!count || (!expand(m, word, threads, nodes, count, why) &&
			    !(list = write_layouts(count, layouts, nodes))))
		why_set(why, "out of memory");
	free(count);
	*n = list ? layouts : 0;
	return list;
}
