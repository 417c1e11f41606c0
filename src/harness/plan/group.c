/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of trials that are sampled in turn: compared trials, as many as memory holds. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/plan/plan.h"
#include "harness/ask/parameters.h"
#include "base/hash.h"
#include "base/sysfs.h"
#include "machine/topology/topology.h"

/*
 * Share of the available memory that a group may hold: page tables and other programs need some
 * too.
 */
#define MEMORY_SHARE 0.8
/*
 * Share of that for earlier allocations: a host may take seconds to back a GiB that its guest
 * touches for the first time.
 */
#define HELD_SHARE 0.25

/* ---- kin: trials that are sampled in turn ---- */

/* Whether a ratio compares two variants, only one of which uses the parameter. */
static bool parts(const struct benchmark *b, const struct ratio *r, unsigned parameter)
{
	bool has = false, lacks = false;

	if (r->parameter != P_VARIANT || parameter == P_THREADS)
		return false;
	for (const struct variant *v = b->variants; v < b->variants + b->n_variants; v++)
		if (!strcmp(v->name, r->of) || !strcmp(v->name, r->to)) {
			has |= parameter_applies(b, v, parameter);
			lacks |= !parameter_applies(b, v, parameter);
		}
	return has && lacks;
}

/*
 * Whether a ratio compares values of the parameter (or of P_THREADS). A trial that does not use a
 * parameter is compared with trials of each of its values.
 */
static bool in_ratio(const struct benchmark *b, unsigned parameter)
{
	for (const struct ratio *r = b->ratios; r && r < b->ratios + b->n_ratios; r++)
		if (r->parameter == parameter || parts(b, r, parameter))
			return true;
	return false;
}

/* Whether trials that differ in the parameter are sampled in turn. */
static bool in_turn(const struct planned *p, unsigned parameter)
{
	const struct benchmark *b = p->trial.benchmark;
	const struct parameter *q = &b->parameters[parameter];

	return in_ratio(b, parameter) ||
	       (!p->needs.alone && (q->type == P_LAYOUT || q->type == P_NODE || q->curve));
}

/*
 * A hash that is equal for trials that will be sampled in turn: they differ only in variant,
 * layout, node, and compared parameters. Trials that would evict each other's data are sampled in
 * turn only if they form a ratio.
 */
static uint64_t kinship(const struct planned *p)
{
	const struct trial *t = &p->trial;
	const struct benchmark *b = t->benchmark;
	const bool variants = !p->needs.alone || in_ratio(b, P_VARIANT);
	char key[3 * VALUE_ROOM], text[VALUE_ROOM];
	int used = snprintf(key, sizeof(key), "%u %s", in_ratio(b, P_THREADS) ? 0 : t->threads,
			    variants ? "" : t->variant->name);

	for (unsigned i = 0; i < b->n_parameters && used < (int)sizeof(key); i++) {
		const struct parameter *q = &b->parameters[i];

		if (!in_turn(p, i))
			used += snprintf(key + used, sizeof(key) - (size_t)used, " %s",
					 parameter_applies(t->benchmark, t->variant, i)
						 ? value_print(q, t->value[i], text, sizeof(text))
						 : "");
	}
	return hash_text(key);
}

/* A trial's number, and the first trial of its kin. */
struct order {
	bool alone;
	unsigned first, number;
};

static int compare_order(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->alone != y->alone)
		return x->alone - y->alone;
	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/*
 * A copy of the trials, in which kin follow each other; NULL: no memory. Trials that are measured
 * alone come last: they are large, and a short budget should omit those.
 */
static struct planned *sort_kin(struct plan *plan)
{
	struct planned *sorted = calloc(plan->trials, sizeof(*sorted));
	struct order *order = calloc(plan->trials, sizeof(*order));
	json_t *first = json_object(); /* by kin */

	for (unsigned i = 0; order && i < plan->trials; i++) {
		char key[17];

		snprintf(key, sizeof(key), "%016" PRIx64, plan->trial[i].kin);
		if (!json_object_get(first, key))
			json_object_set_new(first, key, json_integer(i));
		order[i] =
			(struct order){ plan->trial[i].needs.alone,
					(unsigned)json_integer_value(json_object_get(first, key)),
					i };
	}
	if (order)
		qsort(order, plan->trials, sizeof(*order), compare_order);
	for (unsigned i = 0; sorted && order && i < plan->trials; i++)
		sorted[i] = plan->trial[order[i].number];
	if (!order) {
		free(sorted);
		sorted = NULL;
	}
	json_decref(first);
	free(order);
	return sorted;
}

static void bring_together(struct plan *plan)
{
	struct planned *sorted;

	for (unsigned i = 0; i < plan->trials; i++)
		plan->trial[i].kin = kinship(&plan->trial[i]);
	sorted = sort_kin(plan);
	if (!sorted)
		return;
	free(plan->trial);
	plan->trial = sorted;
}

/* ---- what memory holds at once ---- */

double plan_room(const struct setting *setting)
{
	const struct machine *m = setting->machine;
	const unsigned ranks = setting->host_ranks > 1 ? setting->host_ranks : 1;
	double least = (double)setting->memory.available; /* this rank's */
	struct node_memory now;

	for (unsigned i = 0; m->nodes > 1 && i < m->nodes; i++) {
		bool known = m->running && m->node[i].memory &&
			     !node_memory_read(SYSFS_ROOT, m->node[i].number, &now);
		double has = known ? (double)now.available : (double)m->node[i].memory;

		if (m->node[i].memory && has / ranks < least)
			least = has / ranks;
	}
	return MEMORY_SHARE * least;
}

static double room_of(const struct setting *setting)
{
	return setting->room > 0 ? setting->room : plan_room(setting);
}

double plan_quarantine_room(const struct setting *setting, double bytes)
{
	const double room = room_of(setting);

	return fmax(0, fmin(HELD_SHARE * room, room - bytes));
}

double plan_quarantine_each(const struct setting *setting)
{
	const size_t cache = setting->machine->last_cache;

	return cache ? (double)cache : INFINITY;
}

/* Begins a group where the kin changes, or where the group would no longer fit into memory. */
static void split(struct plan *plan, double room)
{
	double bytes = 0;

	plan->groups = 0;
	for (unsigned i = 0; i < plan->trials; i++) {
		struct planned *p = &plan->trial[i];
		const bool kin = i && p->kin == p[-1].kin,
			   fits = p->refusal || bytes <= 0 ||
				  bytes + (double)p->needs.bytes <= room;

		if (!kin || !fits)
			bytes = 0;
		plan->groups += !kin || !fits;
		bytes += p->refusal ? 0 : (double)p->needs.bytes;
		p->group = plan->groups - 1;
	}
}

void plan_group(struct plan *plan, const struct setting *setting)
{
	bring_together(plan);
	split(plan, room_of(setting));
}
