/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a trial fits the machine: CPUs for its threads, memory for its data. The kernel does not
 * refuse pages, it kills the process.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "harness/plan/request.h"
#include "machine/threads/team.h"
#include "machine/topology/topology.h"

/* ---- places ---- */

const char *plan_bind(const struct options *o, const struct affinity *a, unsigned threads)
{
	if (o->bind)
		return o->bind;
	return a && a->threads >= threads ? "inherited" : "close";
}

/* With a layout, `close` is the default, and is called "layout". */
static const char *layout_bind(const struct options *o)
{
	return o->bind && strcmp(o->bind, "close") ? o->bind : "layout";
}

static void keep_inherited(struct place *place, const struct setting *setting, unsigned threads)
{
	for (unsigned i = 0; i < threads; i++) {
		const int number = setting->affinity->cpu_of[i];
		const struct cpu *cpu = machine_cpu(setting->machine, number);

		place[i] = (struct place){ number, cpu ? cpu->node : 0 };
	}
}

/* Finds a CPU for each thread. -1, and why. */
static int find_places(struct planned *p, struct place *place, const struct request *r,
		       const char *layout, const char **why)
{
	const struct machine *m = r->setting->machine;
	const struct options *o = r->options;
	const unsigned threads = p->trial.threads;

	p->bind = layout ? layout_bind(o) : plan_bind(o, r->setting->affinity, threads);
	if (layout)
		return machine_layout(m, layout, p->bind, o->oversubscribe, place, why);
	if (o->bind || strcmp(p->bind, "inherited"))
		return machine_bind(m, p->bind, threads, o->oversubscribe, place, why);
	keep_inherited(place, r->setting, threads);
	return 0;
}

static int list_all(struct planned *p)
{
	const struct machine *m = p->trial.machine;

	p->cpu = calloc(m->cpus, sizeof(*p->cpu));
	for (p->cpus = 0; p->cpu && p->cpus < m->cpus; p->cpus++)
		p->cpu[p->cpus] = m->cpu[p->cpus].number;
	return p->cpu ? 0 : -1;
}

/* Lists the CPUs that the threads sit on, or float over, each once. -1: no memory. */
static int list_cpus(struct planned *p)
{
	const struct place *place = p->trial.place;

	if (p->trial.floating)
		return list_all(p);
	p->cpu = calloc(p->trial.threads, sizeof(*p->cpu));
	if (!p->cpu)
		return -1;
	for (unsigned i = 0, j; i < p->trial.threads; i++) {
		for (j = 0; j < p->cpus && p->cpu[j] != place[i].cpu; j++)
			;
		if (j == p->cpus)
			p->cpu[p->cpus++] = place[i].cpu;
	}
	return 0;
}

/* Why threads with places cannot sit there, to be freed; NULL: they can. */
static char *refuse_places(const struct planned *p, const struct request *r, const char *layout)
{
	const char *crowd = r->setting->crowd;

	if (p->trial.floating && (layout || r->benchmark->protocol.scored == IN_PAIRS))
		return strdup("it needs threads that stay on their CPUs, and --bind float lets "
			      "them move: choose close, spread, or a list of CPUs");
	if (r->options->oversubscribe || !p->trial.oversubscribed)
		return NULL;
	if (crowd)
		return strdup(crowd);
	return text_of("%u threads were bound to %u CPUs from outside; ask for fewer, or allow "
		       "more than one on a CPU with --oversubscribe",
		       p->trial.threads, p->cpus);
}

int fit_threads(struct planned *p, const struct request *r, const char *layout)
{
	struct place *place = calloc(p->trial.threads, sizeof(*place));
	const char *why = NULL;
	bool failed;

	p->trial.place = place;
	if (!place)
		return EXIT_BAD;
	failed = find_places(p, place, r, layout, &why) != 0;
	p->trial.floating = order_is_float(p->bind);
	if (!failed && list_cpus(p))
		return EXIT_BAD;
	p->trial.oversubscribed = r->setting->crowd || (!failed && p->cpus < p->trial.threads);
	p->refusal = failed ? strdup(why) : refuse_places(p, r, layout);
	return 0;
}

/* ---- memory ---- */

size_t fit_most(const struct setting *setting)
{
	const double most = setting->most > 0 ? setting->most : (double)setting->memory.available;

	/* minus what memory_overhead() adds */
	return setting->memory.available == NO_LIMIT
		       ? 0
		       : (size_t)fmax(1, (most - (4 << 20)) * 256 / 257);
}

/* A node requested by number may have no memory that we may use. */
static char *refuse_nodes(const struct trial *t)
{
	char lack[NODE_TEXT];

	for (unsigned i = 0; i < t->benchmark->n_parameters; i++) {
		const struct parameter *p = &t->benchmark->parameters[i];
		const bool given =
			p->type == P_NODE && parameter_applies(t->benchmark, t->variant, i);
		const struct node *node =
			given ? machine_node(t->machine, (int)t->value[i].count) : NULL;

		if (node && !machine_has_memory(t->machine, node))
			return text_of("--%s %d: its data can't lie on node %d, %s; `locus "
				       "topology` lists nodes with memory",
				       p->name, node->number, node->number,
				       node_lack(t->machine, node, lack));
	}
	return NULL;
}

static char *refuse_bytes(const struct setting *setting, size_t bytes)
{
	const uint64_t most = setting->memory.available;
	char needed[TEXT_BYTES], more[TEXT_BYTES], there[TEXT_BYTES], parts[64] = "";

	if (!bytes || bytes + memory_overhead(bytes) <= most)
		return NULL;
	if (setting->memory.sharers > 1)
		snprintf(parts, sizeof(parts), ", shared by %u ranks", setting->memory.sharers);
	return text_of("it needs %s of memory, and %s for page tables and samples, but only %s is "
		       "available because of %s%s; choose a smaller size",
		       text_bytes(needed, bytes), text_bytes(more, memory_overhead(bytes)),
		       text_bytes(there, most), setting->memory.what, parts);
}

char *fit_refusal(const struct setting *setting, const struct trial *t, size_t bytes)
{
	char *refusal = refuse_nodes(t);

	return refusal ? refusal : refuse_bytes(setting, bytes);
}
