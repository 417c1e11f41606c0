/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "harness/plan/seat.h"
#include "base/text.h"
#include "machine/threads/places.h"
#include "machine/topology/topology.h"

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

static void keep_inherited(struct seats *s, const struct setting *setting, unsigned threads)
{
	for (unsigned i = 0; i < threads; i++) {
		const int number = setting->affinity->cpu_of[i];
		const struct cpu *cpu = machine_cpu(setting->machine, number);

		s->place[i] = (struct place){ number, cpu ? cpu->node : 0 };
	}
}

/* -1 with a reason. */
static int find_places(struct seats *s, const struct request *r, unsigned threads,
		       const char *layout, const char **why)
{
	const struct machine *m = r->setting->machine;
	const struct options *o = r->options;

	s->bind = layout ? layout_bind(o) : plan_bind(o, r->setting->affinity, threads);
	if (layout)
		return machine_layout(m, layout, s->bind, o->oversubscribe, s->place, why);
	if (o->bind || strcmp(s->bind, "inherited"))
		return machine_bind(m, s->bind, threads, o->oversubscribe, s->place, why);
	keep_inherited(s, r->setting, threads);
	return 0;
}

static int list_all(struct seats *s, const struct machine *m)
{
	s->cpu = calloc(m->cpus, sizeof(*s->cpu));
	for (s->cpus = 0; s->cpu && s->cpus < m->cpus; s->cpus++)
		s->cpu[s->cpus] = m->cpu[s->cpus].number;
	return s->cpu ? 0 : -1;
}

static int list_cpus(struct seats *s, const struct machine *m, unsigned threads)
{
	if (order_is_float(s->bind))
		return list_all(s, m);
	s->cpu = calloc(threads, sizeof(*s->cpu));
	if (!s->cpu)
		return -1;
	for (unsigned i = 0, j; i < threads; i++) {
		for (j = 0; j < s->cpus && s->cpu[j] != s->place[i].cpu; j++)
			;
		if (j == s->cpus)
			s->cpu[s->cpus++] = s->place[i].cpu;
	}
	return 0;
}

int seat_threads(struct seats *s, const struct request *r, unsigned threads, const char *layout)
{
	const char *why = NULL, *crowd = r->setting->crowd;
	bool failed;

	*s = (struct seats){ .place = calloc(threads, sizeof(*s->place)) };
	if (!s->place)
		return EXIT_BAD;
	failed = find_places(s, r, threads, layout, &why) != 0;
	if (!failed && list_cpus(s, r->setting->machine, threads))
		return EXIT_BAD;
	s->oversubscribed = crowd || (!failed && s->cpus < threads);
	if (failed)
		s->refusal = strdup(why);
	else if (order_is_float(s->bind) && (layout || r->benchmark->protocol.scored == IN_PAIRS))
		s->refusal = strdup("it is about where threads sit, and --bind float lets them "
				    "move: choose close, spread, or a list of CPUs");
	else if (crowd && !r->options->oversubscribe)
		s->refusal = strdup(crowd);
	else if (s->oversubscribed && !r->options->oversubscribe)
		s->refusal = text_of("%u threads were bound to %u CPUs from outside; ask for "
				     "fewer, or allow more than one on a CPU with --oversubscribe",
				     threads, s->cpus);
	return 0;
}
