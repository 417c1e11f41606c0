/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>

#include "base/names.h"
#include "harness/tournament.h"
#include "harness/plan.h"
#include "base/text.h"
#include "harness/values.h"
#include "base/sysfs.h"
#include "machine/places.h"
#include "machine/topology.h"

/*
 * Share of the available memory that trials sampled in turn may hold together: page tables and
 * other programs need some too.
 */
#define MEMORY_SHARE 0.8

enum { MOST_TRIALS = 20000 };

/* Everything that the product is made of. */
struct lists {
	const struct benchmark *benchmark;
	const struct options *options;
	const struct setting *setting;
	bool *wanted;  /* by index of the variants */
	json_t *known; /* by id of each trial that is planned already */
	unsigned variants, parameters;
	uint64_t told; /* BIT() of layouts whose equal words have been told */
	/* of the variant at hand */
	const struct variant *variant;
	struct values threads; /* 0 for "as the layout says" */
	struct values parameter[MOST_PARAMETERS];
};

/* What a profile has for itself, or else the one before it. */
static const char *of_profile(const char *const *value, enum profile profile)
{
	while (profile > QUICK && !value[profile])
		profile--;
	return value[profile];
}

/* What a profile sets, by itself or as the profile before it. */
static struct preset preset_of(const struct benchmark *b, enum profile profile)
{
	struct preset p = { 0 };

	for (unsigned i = QUICK; i <= profile; i++) {
		const struct preset *own = &b->preset[i];

		p = (struct preset){ own->variants ? own->variants : p.variants,
				     own->threads ? own->threads : p.threads,
				     own->sample > 0 ? own->sample : p.sample,
				     own->repeats ? own->repeats : p.repeats };
	}
	return p;
}

/* The default that a variant has instead of a parameter's; NULL: none. */
static const char *default_of(const struct variant *v, unsigned parameter, enum profile profile)
{
	for (const struct override *o = v->defaults; o && o->value[QUICK]; o++)
		if (o->parameter == parameter)
			return of_profile(o->value, profile);
	return NULL;
}

static double sample_of(const struct benchmark *b, const struct options *o)
{
	return o->duration > 0 ? o->duration : preset_of(b, o->profile).sample;
}

/* Asked for, or published; a budget of one's own is not cut by what was published. */
static unsigned repeats_of(const struct benchmark *b, const struct options *o)
{
	return o->repeats || o->case_budget > 0 ? o->repeats : preset_of(b, o->profile).repeats;
}

static uint64_t one_a_core(const struct machine *m, enum profile profile)
{
	(void)profile;
	return m->cores;
}

static uint64_t one_a_cpu(const struct machine *m, enum profile profile)
{
	(void)profile;
	return m->cpus;
}

static const struct parameter thread_parameter = { .name = "threads",
						   .help = "numbers of threads",
						   .type = P_COUNT,
						   .automatic = one_a_core,
						   .all = one_a_cpu };

static int complain(const struct lists *l, const char *option, const char *why)
{
	fprintf(stderr, "%s %s: --%s: %s\n", program_invocation_short_name, l->benchmark->name,
		option, why);
	return EXIT_COMMAND_LINE;
}

static bool possible(const struct lists *l, unsigned variant)
{
	return !l->setting->ranks || l->benchmark->variants[variant].divided;
}

static int choose_variants(struct lists *l)
{
	const unsigned n = l->variants;
	const char *list = l->options->variant, *names[n];
	char word[128], why[512];

	if (!list && !l->setting->ranks)
		list = preset_of(l->benchmark, l->options->profile).variants;

	for (unsigned i = 0; i < n; i++) {
		names[i] = l->benchmark->variants[i].name;
		l->wanted[i] = !list && possible(l, i);
	}
	while (next_word(&list, word, sizeof(word))) {
		unsigned i = 0;
		int near;

		while (i < n && strcmp(names[i], word))
			i++;
		if (i < n && !possible(l, i)) {
			snprintf(why, sizeof(why),
				 "%s is not divided over ranks; `locus list %s` says which "
				 "variants are",
				 word, l->benchmark->name);
			return complain(l, "variant", why);
		}
		if (i < n) {
			l->wanted[i] = true;
			continue;
		}
		near = nearest(word, names, n);
		snprintf(why, sizeof(why),
			 "%s has no variant '%s'%s%s%s `locus list %s` shows them",
			 l->benchmark->name, word, near < 0 ? ";" : "; did you mean '",
			 near < 0 ? "" : names[near], near < 0 ? "" : "'?", l->benchmark->name);
		return complain(l, "variant", why);
	}
	return 0;
}

static bool has_layout(const struct benchmark *b, const struct variant *v, unsigned *which)
{
	for (unsigned i = 0; i < parameter_count(b); i++) {
		if (b->parameters[i].type != P_LAYOUT || !has_parameter(b, v, i))
			continue;
		if (which)
			*which = i;
		return true;
	}
	return false;
}

static int choose_threads(struct lists *l)
{
	const char *text = l->options->threads;
	char why[512];

	if (!text)
		text = default_of(l->variant, P_THREADS, l->options->profile);
	if (!text)
		text = preset_of(l->benchmark, l->options->profile).threads;
	if (!text)
		text = has_layout(l->benchmark, l->variant, NULL) ? "0" : "auto";
	if (values_parse(&thread_parameter, text, l->setting->machine, l->options->profile,
			 &l->threads, why, sizeof(why)))
		return complain(l, "threads", why);
	for (unsigned i = 0; l->options->threads && i < l->threads.n; i++) {
		if (l->threads.value[i].count >= 1 && l->threads.value[i].count <= 65536)
			continue;
		snprintf(why, sizeof(why), "%" PRIu64 " is not between 1 and 65536",
			 l->threads.value[i].count);
		return complain(l, "threads", why);
	}
	return 0;
}

/* The user's value, else the variant's default, else the parameter's. */
static const char *given_for(const struct lists *l, unsigned parameter)
{
	const char *text = l->options->parameter[parameter];

	if (!text)
		text = default_of(l->variant, parameter, l->options->profile);
	return text ? text
		    : of_profile(l->benchmark->parameters[parameter].value, l->options->profile);
}

/* A value that isn't on this machine has no trial to be recorded with: it is refused at once. */
static int choose_parameters(struct lists *l)
{
	char why[1024];

	for (unsigned i = 0; i < l->parameters; i++) {
		const struct parameter *p = &l->benchmark->parameters[i];
		int status;

		if (!has_parameter(l->benchmark, l->variant, i))
			continue;
		status = values_parse(p, given_for(l, i), l->setting->machine, l->options->profile,
				      &l->parameter[i], why, sizeof(why));
		if (!status && p->output && l->parameter[i].n > 1) {
			snprintf(why, sizeof(why), "one value, not %zu", (size_t)l->parameter[i].n);
			status = EXIT_COMMAND_LINE;
		}
		if (!status)
			continue;
		complain(l, p->name, why);
		return status;
	}
	return 0;
}

/* The one layout that a word stands for, or NULL. */
static char **only_layout(const struct lists *l, const char *word, unsigned threads)
{
	const char *why;
	unsigned n;
	char **layout = machine_layouts(l->setting->machine, word, threads, &n, &why);

	if (!layout || n == 1)
		return layout;
	free(layout);
	return NULL;
}

/* Tells which words come to the same layout: they make one trial. */
static void tell_equal_layouts(const struct lists *l, unsigned parameter, unsigned threads)
{
	const struct values *words = &l->parameter[parameter];

	for (size_t i = 1; i < words->n; i++) {
		char **own = only_layout(l, words->value[i].text, threads), **other = NULL;
		size_t j = 0;

		for (; own && j < i; j++, free(other)) {
			other = only_layout(l, words->value[j].text, threads);
			if (!other || strcmp(*own, *other))
				continue;
			fprintf(stderr, "%s %s: --%s: %s is the same as %s on this machine, ",
				program_invocation_short_name, l->benchmark->name,
				l->benchmark->parameters[parameter].name, words->value[i].text,
				words->value[j].text);
			fprintf(stderr, "%s: measured once\n", *own);
			free(other);
			break;
		}
		free(own);
	}
}

/* Once for each parameter, and not on a single node, where all words are the same. */
static void tell_repetitions(struct lists *l)
{
	unsigned at;

	if (machine_cpu_nodes(l->setting->machine) < 2 ||
	    !has_layout(l->benchmark, l->variant, &at) || l->told & BIT(at))
		return;
	l->told |= BIT(at);
	for (size_t i = 0; i < l->threads.n; i++)
		tell_equal_layouts(l, at, (unsigned)l->threads.value[i].count);
}

static void forget_choices(struct lists *l)
{
	values_free(&thread_parameter, &l->threads);
	for (unsigned i = 0; i < l->parameters; i++)
		values_free(&l->benchmark->parameters[i], &l->parameter[i]);
}

/* FNV-1a, 64 bits (Fowler, Noll and Vo). */
static uint64_t hash(const char *text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return h;
}

static void identify(struct planned *p)
{
	const struct trial *t = &p->trial;
	size_t size;
	FILE *f = open_memstream(&p->identity, &size);
	char text[VALUE_ROOM];

	if (!f)
		return;
	fprintf(f, "%s/%s", t->benchmark->name, t->variant->name);
	for (unsigned i = 0; i < parameter_count(t->benchmark); i++)
		if (has_parameter(t->benchmark, t->variant, i) &&
		    !t->benchmark->parameters[i].output)
			fprintf(f, " %s=%s", t->benchmark->parameters[i].name,
				value_print(&t->benchmark->parameters[i], t->value[i], text,
					    sizeof(text)));
	fprintf(f, " threads=%u", t->threads);
	if (t->ranks && t->ranks->ranks > 1)
		fprintf(f, " ranks=%u", t->ranks->ranks);
	fprintf(f, " bind=%s%s protocol=%08" PRIx64, p->bind,
		t->oversubscribed ? " oversubscribed" : "", hash(t->benchmark->protocol) >> 32);
	fclose(f);
	p->hash = hash(p->identity);
	snprintf(p->id, sizeof(p->id), "%016" PRIx64, p->hash);
}

const char *plan_bind(const struct options *o, const struct affinity *a, unsigned threads)
{
	if (o->bind)
		return o->bind;
	return a && a->threads >= threads ? "inherited" : "close";
}

/* With a layout, close is the default, which has a name of its own. */
static const char *layout_bind(const struct options *o)
{
	return o->bind && strcmp(o->bind, "close") ? o->bind : "layout";
}

/* 0, or an exit status after a message. */
static int settle(const struct planned *p, const struct lists *l, union value *value)
{
	uint64_t given = 0;
	const char *why;

	for (unsigned i = 0; i < l->parameters; i++)
		given |= l->options->parameter[i] ? BIT(i) : 0;
	why = l->benchmark->settle ? l->benchmark->settle(&p->trial, value, given) : NULL;
	if (!why)
		return 0;
	fprintf(stderr, "%s %s: %s\n", program_invocation_short_name, l->benchmark->name, why);
	return EXIT_COMMAND_LINE;
}

/* The CPUs of its places, each once. */
static int list_cpus(struct planned *p)
{
	p->cpu = calloc(p->trial.threads, sizeof(*p->cpu));
	if (!p->cpu)
		return -1;
	for (unsigned i = 0, j; i < p->trial.threads; i++) {
		for (j = 0; j < p->cpus && p->cpu[j] != p->trial.place[i].cpu; j++)
			;
		if (j == p->cpus)
			p->cpu[p->cpus++] = p->trial.place[i].cpu;
	}
	return 0;
}

/* Where the threads sit; a refusal where they can't. 0, or an exit status after a message. */
static int seat(struct planned *p, const struct lists *l, const char *layout)
{
	const struct machine *m = l->setting->machine;
	const struct affinity *a = l->setting->affinity;
	struct trial *t = &p->trial;
	struct place *place = calloc(t->threads, sizeof(*place));
	const char *why = NULL;
	int failed = 0;

	if (!place)
		return EXIT_BAD;
	t->place = place;
	p->bind = layout ? layout_bind(l->options) : plan_bind(l->options, a, t->threads);
	if (layout) {
		failed = machine_layout(m, layout, p->bind, l->options->oversubscribe, place, &why);
	} else if (!l->options->bind && strcmp(p->bind, "inherited") == 0) {
		for (unsigned i = 0; i < t->threads; i++) {
			const struct cpu *cpu = machine_cpu(m, a->cpu_of[i]);

			place[i] = (struct place){ a->cpu_of[i], cpu ? cpu->node : 0 };
		}
	} else {
		failed = machine_bind(m, p->bind, t->threads, l->options->oversubscribe, place,
				      &why);
	}
	if (failed && errno == EINVAL)
		return complain(l, layout ? "layout" : "bind", why);
	if (!failed && list_cpus(p))
		return EXIT_BAD;
	t->oversubscribed = l->setting->crowd || (!failed && p->cpus < t->threads);
	if (failed)
		p->refusal = strdup(why);
	else if (l->setting->crowd && !l->options->oversubscribe)
		p->refusal = strdup(l->setting->crowd);
	else if (t->oversubscribed && !l->options->oversubscribe)
		p->refusal = text_of("%u threads were bound to %u CPUs from outside; ask for "
				     "fewer, or allow more than one on a CPU with --oversubscribe",
				     t->threads, p->cpus);
	return 0;
}

/* A node that was asked for by number may have no memory that we may use. */
static char *refuse_nodes(const struct trial *t)
{
	char lack[NODE_TEXT];

	for (unsigned i = 0; i < parameter_count(t->benchmark); i++) {
		const struct parameter *p = &t->benchmark->parameters[i];
		const bool given = p->type == P_NODE && has_parameter(t->benchmark, t->variant, i);
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

/* The largest footprint that is not refused on any rank. */
static size_t most_of_one(const struct setting *setting)
{
	const double most = setting->most > 0 ? setting->most : (double)setting->memory.available;

	return setting->memory.available == NO_LIMIT
		       ? 0
		       : (size_t)fmax(1, (most - (4 << 20)) * 256 / 257);
}

/* Short of what a trial needs, the kernel kills instead of refusing. */
static void weigh(struct planned *p, const struct lists *l)
{
	const struct memory_limit *memory = &l->setting->memory;
	const uint64_t ranks = l->setting->here > 1 ? l->setting->here : 1,
		       most = memory->available / ranks;
	char needed[BYTES_TEXT], more[BYTES_TEXT], there[BYTES_TEXT], parts[64] = "";

	if (ranks > 1)
		snprintf(parts, sizeof(parts), ", shared by %" PRIu64 " ranks", ranks);
	if (p->refusal)
		return;
	p->refusal = refuse_nodes(&p->trial);
	if (!p->refusal && p->needs.bytes && p->needs.bytes + memory_beside(p->needs.bytes) > most)
		p->refusal =
			text_of("it needs %s of memory and %s beside it (page tables, samples), "
				"but only %s can be had, because of %s%s; choose a smaller size",
				bytes_text(needed, p->needs.bytes),
				bytes_text(more, memory_beside(p->needs.bytes)),
				bytes_text(there, most), memory->what, parts);
}

static void planned_free(struct planned *p)
{
	for (unsigned i = 0; p->trial.value && i < parameter_count(p->trial.benchmark); i++)
		if (p->trial.benchmark->parameters[i].type == P_LAYOUT ||
		    p->trial.benchmark->parameters[i].type == P_PATH)
			free((char *)p->trial.value[i].text);
	free((void *)p->trial.value);
	free((void *)p->trial.place);
	free(p->cpu);
	free(p->identity);
	free(p->refusal);
}

/*
 * Adds one trial, unless it makes no sense or is there already (layouts may come to the same
 * thing). Takes over `value`. A status, as above.
 */
static int add(struct plan *plan, const struct lists *l, const struct variant *v,
	       union value *value, unsigned threads, const char *layout)
{
	struct planned p = { .trial = { .benchmark = l->benchmark,
					.variant = v,
					.value = value,
					.threads = threads,
					.machine = l->setting->machine,
					.seed = l->options->seed,
					.ranks = l->setting->ranks,
					.memory = most_of_one(l->setting) },
			     .sample = sample_of(l->benchmark, l->options),
			     .repeats = repeats_of(l->benchmark, l->options) };
	struct planned *grown;
	int status = value ? settle(&p, l, value) : EXIT_BAD;

	if (!status)
		status = seat(&p, l, layout);
	if (status)
		goto fail;
	status = EXIT_BAD;
	if (!p.refusal && l->benchmark->needs)
		p.needs = l->benchmark->needs(&p.trial);
	if (p.needs.pointless) {
		if (!plan->refused++)
			plan->why_refused = p.needs.pointless;
		planned_free(&p);
		return 0;
	}
	weigh(&p, l);
	identify(&p);
	if (!p.identity)
		goto fail;
	if (json_object_get(l->known, p.id)) {
		planned_free(&p);
		return 0;
	}
	if (plan->trials == MOST_TRIALS) {
		fprintf(stderr, "%s %s: more than %d trials; choose fewer values\n",
			program_invocation_short_name, l->benchmark->name, MOST_TRIALS);
		status = EXIT_COMMAND_LINE;
		goto fail;
	}
	if ((plan->trials & (plan->trials - 1)) == 0) { /* full: room for twice as many */
		grown = realloc(plan->trial,
				(plan->trials ? 2UL * plan->trials : 1) * sizeof(*grown));
		if (!grown)
			goto fail;
		plan->trial = grown;
	}
	if (json_object_set_new(l->known, p.id, json_true()))
		goto fail;
	plan->trial[plan->trials++] = p;
	if (!p.refusal && threads > plan->threads)
		plan->threads = threads;
	return 0;
fail:
	if (status == EXIT_BAD)
		fprintf(stderr, "%s %s: out of memory\n", program_invocation_short_name,
			l->benchmark->name);
	planned_free(&p);
	return status;
}

static union value *copy_values(const struct lists *l, const union value *value)
{
	union value *copy = calloc(l->parameters, sizeof(*copy));

	for (unsigned i = 0; copy && i < l->parameters; i++) {
		copy[i] = value[i];
		if (l->benchmark->parameters[i].type == P_LAYOUT ||
		    l->benchmark->parameters[i].type == P_PATH)
			copy[i].text = value[i].text ? strdup(value[i].text) : NULL;
	}
	return copy;
}

/* One point of the product: a word of a layout may stand for several. */
static int add_point(struct plan *plan, const struct lists *l, const struct variant *v,
		     union value *value, unsigned threads)
{
	const struct machine *m = l->setting->machine;
	const char *why = NULL, *word;
	unsigned at, n;
	char **layout;
	int status = 0;

	if (!has_layout(l->benchmark, v, &at))
		return add(plan, l, v, copy_values(l, value), threads ? threads : m->cores, NULL);
	word = value[at].text;
	layout = machine_layouts(m, word, threads, &n, &why);
	if (!layout && l->options->parameter[at]) {
		status = errno == EINVAL ? EXIT_COMMAND_LINE : EXIT_IMPOSSIBLE;
		complain(l, l->benchmark->parameters[at].name, why);
		return status;
	}
	/* "all" among the defaults, and --threads says otherwise: nobody asked for both */
	if (!layout) {
		if (!plan->refused++)
			plan->why_refused = "a layout that comes with its own number of threads, "
					    "against --threads";
		return 0;
	}
	for (unsigned i = 0; i < n; i++) {
		value[at].text = layout[i];
		if (!status)
			status = add(plan, l, v, copy_values(l, value), layout_threads(layout[i]),
				     layout[i]);
	}
	free(layout);
	value[at].text = word;
	return status;
}

/* Odometer over the parameters that the variant has; the others keep a neutral value. */
static int multiply(struct plan *plan, const struct lists *l, unsigned threads)
{
	const struct variant *v = l->variant;
	unsigned at[MOST_PARAMETERS] = { 0 }, i;
	union value value[MOST_PARAMETERS] = { 0 };
	int status;

	do {
		for (i = 0; i < l->parameters; i++)
			value[i] = has_parameter(l->benchmark, v, i) ? l->parameter[i].value[at[i]]
								     : (union value){ 0 };
		status = add_point(plan, l, v, value, threads);
		if (status)
			return status;
		for (i = l->parameters; i-- > 0;) {
			if (has_parameter(l->benchmark, v, i) && ++at[i] < l->parameter[i].n)
				break;
			at[i] = 0;
		}
	} while (i < l->parameters); /* i wraps when the odometer does */
	return 0;
}

/* By a ratio; a parameter, or what numbers of threads differ in. */
static bool compared(const struct benchmark *b, unsigned parameter)
{
	if (parameter != P_THREADS && b->parameters[parameter].curve)
		return true;
	for (const struct ratio *r = b->ratios; r && r->name; r++)
		if (r->parameter == parameter)
			return true;
	return false;
}

/*
 * Sampled in turn: all that differ in nothing but the variant, the layout, the node, and what a
 * ratio compares.
 */
static uint64_t kinship(const struct planned *p)
{
	const struct trial *t = &p->trial;
	char key[3 * VALUE_ROOM], text[VALUE_ROOM];
	int used = snprintf(key, sizeof(key), "%u",
			    compared(t->benchmark, P_THREADS) ? 0 : t->threads);

	if (p->needs.alone)
		return p->hash;

	for (unsigned i = 0; i < parameter_count(t->benchmark) && used < (int)sizeof(key); i++) {
		const struct parameter *q = &t->benchmark->parameters[i];

		if (q->type != P_LAYOUT && q->type != P_NODE && !compared(t->benchmark, i))
			used += snprintf(key + used, sizeof(key) - (size_t)used, " %s",
					 has_parameter(t->benchmark, t->variant, i)
						 ? value_print(q, t->value[i], text, sizeof(text))
						 : "");
	}
	return hash(key);
}

/*
 * What a group may hold: where there are several nodes, no more than the least of them has, for all
 * of it may have to lie there.
 */
double plan_room(const struct setting *setting)
{
	const struct machine *m = setting->machine;
	double least = (double)setting->memory.available;
	struct node_memory now;

	for (unsigned i = 0; m->nodes > 1 && i < m->nodes; i++) {
		bool known = m->here && m->node[i].memory &&
			     !node_memory_read(THIS_MACHINE, m->node[i].number, &now);
		double has = known ? (double)now.available : (double)m->node[i].memory;

		if (m->node[i].memory && has < least)
			least = has;
	}
	return MEMORY_SHARE * least / (setting->here > 1 ? setting->here : 1);
}

/* A trial's number, and that of the first of its kin. */
struct order {
	unsigned first, number;
};

static int compare_order(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* The trials, those of one kin after each other; NULL: no memory. */
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
			(struct order){ (unsigned)json_integer_value(json_object_get(first, key)),
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

/* Brings kin together (stably), and splits what memory can't hold at once. */
void plan_group(struct plan *plan, const struct setting *setting)
{
	const double most = setting->room > 0 ? setting->room : plan_room(setting);
	struct planned *sorted;
	double bytes = 0;

	for (unsigned i = 0; i < plan->trials; i++)
		plan->trial[i].kin = kinship(&plan->trial[i]);
	sorted = sort_kin(plan);
	if (sorted) {
		free(plan->trial);
		plan->trial = sorted;
	}
	plan->groups = 0;
	for (unsigned i = 0; i < plan->trials; i++) {
		struct planned *p = &plan->trial[i];
		const bool kin = i && p->kin == p[-1].kin,
			   fits = p->refusal || bytes <= 0 ||
				  bytes + (double)p->needs.bytes <= most;

		if (!kin || !fits)
			bytes = 0;
		plan->groups += !kin || !fits;
		bytes += p->refusal ? 0 : (double)p->needs.bytes;
		p->group = plan->groups - 1;
	}
}

/* What is done with an answer takes one answer. 0, or a status after a message. */
static int check_asides(const struct plan *plan, const struct lists *l)
{
	unsigned trials = 0;
	char why[256];

	for (unsigned i = 0; i < plan->trials; i++)
		trials += !plan->trial[i].refusal;
	for (unsigned i = 0; i < l->parameters && trials > 1; i++) {
		const struct parameter *p = &l->benchmark->parameters[i];
		const char *given = l->options->parameter[i];

		if (!p->output || !given ||
		    !strcmp(given, of_profile(p->value, l->options->profile)))
			continue;
		snprintf(why, sizeof(why),
			 "it is for one trial, and there are %u: choose one with --variant, "
			 "--threads and the parameters (--dry-run shows them)",
			 trials);
		return complain(l, p->name, why);
	}
	return 0;
}

/* What differs between this plan's trials, for a table that needs not repeat the rest. */
static void name_trials(struct plan *plan)
{
	const struct benchmark *b = plan->benchmark;
	const struct trial *first[MOST_PARAMETERS] = { NULL }; /* that has the parameter */
	bool varies[MOST_PARAMETERS] = { 0 }, threads = false;
	char text[VALUE_ROOM], other[VALUE_ROOM];

	for (unsigned i = 0; i < plan->trials; i++) {
		const struct trial *t = &plan->trial[i].trial;

		threads |= t->threads != plan->trial[0].trial.threads;
		for (unsigned j = 0; j < parameter_count(b); j++) {
			const struct parameter *p = &b->parameters[j];

			/* places are always worth a word, where some have none */
			if (!has_parameter(b, t->variant, j))
				varies[j] |= p->type == P_LAYOUT || p->type == P_NODE;
			else if (!first[j])
				first[j] = t;
			else
				varies[j] |= strcmp(value_print(p, t->value[j], text, sizeof(text)),
						    value_print(p, first[j]->value[j], other,
								sizeof(other))) != 0;
		}
	}
	for (unsigned i = 0; i < plan->trials; i++) {
		struct planned *p = &plan->trial[i];
		int used = snprintf(p->name, sizeof(p->name), "%s/%s", b->name,
				    p->trial.variant->name);

		for (unsigned j = 0; j < parameter_count(b) && used < (int)sizeof(p->name); j++)
			if (varies[j] && has_parameter(b, p->trial.variant, j))
				used += snprintf(p->name + used, sizeof(p->name) - (size_t)used,
						 " %s=%s", b->parameters[j].name,
						 value_show(&b->parameters[j], p->trial.value[j],
							    text, sizeof(text)));
		if (threads && used < (int)sizeof(p->name))
			snprintf(p->name + used, sizeof(p->name) - (size_t)used, " threads=%u",
				 p->trial.threads);
	}
}

int plan_make(struct plan *plan, const struct benchmark *b, const struct options *o,
	      const struct setting *setting)
{
	const unsigned variants = variant_count(b);
	bool wanted[variants];
	struct lists l = { .benchmark = b,
			   .options = o,
			   .setting = setting,
			   .wanted = wanted,
			   .variants = variants,
			   .parameters = parameter_count(b) };
	int status;

	*plan = (struct plan){ .benchmark = b };
	l.known = json_object();
	status = choose_variants(&l);
	for (unsigned v = 0; !status && v < variants; v++) {
		if (!wanted[v])
			continue;
		l.variant = &b->variants[v];
		status = choose_threads(&l);
		if (!status)
			status = choose_parameters(&l);
		if (!status)
			tell_repetitions(&l);
		for (unsigned i = 0; !status && i < l.threads.n; i++)
			status = multiply(plan, &l, (unsigned)l.threads.value[i].count);
		forget_choices(&l);
	}
	if (!status && !plan->trials) {
		fprintf(stderr, "%s %s: no trial is left: %s\n", program_invocation_short_name,
			b->name, plan->why_refused ? plan->why_refused : "no variant was chosen");
		status = o->benchmark ? EXIT_COMMAND_LINE : 0; /* in a suite the others go on */
	} else if (!status && !(status = check_asides(plan, &l))) {
		plan_group(plan, setting);
		name_trials(plan);
	}
	json_decref(l.known);
	if (status)
		plan_free(plan);
	return status;
}

void plan_free(struct plan *plan)
{
	for (unsigned i = 0; i < plan->trials; i++)
		planned_free(&plan->trial[i]);
	free(plan->trial);
	plan->trial = NULL;
	plan->trials = 0;
}

/* How many places from i on are a row with one step, on one node. */
static unsigned row_length(const struct place *place, unsigned n)
{
	unsigned length = 1;

	while (length < n && place[length].node == place[0].node &&
	       place[length].cpu - place[length - 1].cpu == place[1].cpu - place[0].cpu &&
	       place[1].cpu > place[0].cpu)
		length++;
	return length;
}

/* "0-30:2 (node 0) 32 33 (node 1)": the places of threads in order. */
static void print_places(const struct planned *p, FILE *f)
{
	const struct place *place = p->trial.place;

	for (unsigned i = 0, length; i < p->trial.threads; i += length) {
		int step;

		length = row_length(place + i, p->trial.threads - i);
		length = length > 2 ? length : 1;
		step = length > 1 ? place[i + 1].cpu - place[i].cpu : 0;
		fprintf(f, " %d", place[i].cpu);
		if (length > 1)
			fprintf(f, "-%d", place[i + length - 1].cpu);
		if (step > 1)
			fprintf(f, ":%d", step);
		if (i + length == p->trial.threads || place[i + length].node != place[i].node)
			fprintf(f, " (node %d)", place[i].node);
	}
}

double plan_tournament(const struct planned *p)
{
	const struct trial *t = &p->trial;

	if (t->benchmark->scored != IN_PAIRS || p->refusal)
		return 0;
	return (double)tournament_rounds(t->threads) * p->needs.meetings *
	       (p->sample + 20e-6 + 2e-6 * t->threads);
}

void plan_print(const struct plan *plan, const struct setting *setting, double s, FILE *f)
{
	char text[BYTES_TEXT];
	double most = 0, bytes = 0;

	fprintf(f, "%s on %s: %u trials in %u groups, each sampled in turn\n",
		plan->benchmark->name, setting->machine->name, plan->trials, plan->groups);
	for (unsigned i = 0; i < plan->trials; i++) {
		const struct planned *p = &plan->trial[i];

		if (i == 0 || p->group != plan->trial[i - 1].group) {
			fprintf(f, "group %u\n", p->group + 1);
			bytes = 0;
		}
		fprintf(f, "  %s  %s\n", p->id, p->identity);
		if (p->refusal) {
			fprintf(f, "    impossible: %s\n", p->refusal);
			continue;
		}
		bytes += (double)p->needs.bytes;
		most = bytes > most ? bytes : most;
		fprintf(f, "    %u thread%s on CPU%s", p->trial.threads,
			p->trial.threads > 1 ? "s" : "", p->trial.threads > 1 ? "s" : "");
		print_places(p, f);
		fprintf(f, "; %s\n", bytes_text(text, p->needs.bytes));
		if (p->trial.benchmark->scored == IN_PAIRS)
			fprintf(f,
				"    %u rounds of %u disjoint pairs, %u times each: about %.2g s a "
				"batch\n",
				tournament_rounds(p->trial.threads), p->trial.threads / 2,
				p->needs.meetings, plan_tournament(p));
	}
	if (plan->refused)
		fprintf(f, "%u combinations left out: %s\n", plan->refused, plan->why_refused);
	fprintf(f, "memory held at once: %s; estimated time: %.0f s\n",
		bytes_text(text, (uint64_t)most), s);
}
