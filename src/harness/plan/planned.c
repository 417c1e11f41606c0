/* SPDX-License-Identifier: Apache-2.0 */
/* One planned trial, from a combination of the lists. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/plan/request.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/utf8.h"
#include "harness/ask/parameters.h"
#include "machine/topology/topology.h"
#include "base/message.h"

enum { MOST_TRIALS = 20000 };

static bool is_text(const struct parameter *p)
{
	return p->type == P_LAYOUT || p->type == P_PATH;
}

static union value *copy_values(const struct benchmark *b, const union value *value)
{
	const unsigned n = b->n_parameters;
	union value *copy = calloc(n, sizeof(*copy));

	for (unsigned i = 0; copy && i < n; i++) {
		copy[i] = value[i];
		if (is_text(&b->parameters[i]))
			copy[i].text = value[i].text ? strdup(value[i].text) : NULL;
	}
	return copy;
}

void planned_free(struct planned *p)
{
	const struct trial *t = &p->trial;

	for (unsigned i = 0; t->value && i < t->benchmark->n_parameters; i++)
		if (is_text(&t->benchmark->parameters[i]))
			free((char *)t->value[i].text);
	free((void *)t->value);
	free((void *)t->place);
	free(p->cpu);
	free(p->identity);
	free(p->refusal);
	free(p->kinds);
	json_decref(p->notes);
}

/* Fills in values that follow from others. 0, or an exit status after a message. */
static int resolve(const struct trial *t, const struct request *r, union value *value)
{
	uint64_t given = 0;
	const char *why;

	if (!r->benchmark->resolve)
		return 0;
	for (unsigned i = 0; i < r->benchmark->n_parameters; i++)
		given |= r->options->parameter[i] ? BIT(i) : 0;
	why = r->benchmark->resolve(t, value, given);
	return why ? request_refuse(r, why) : 0;
}

/* The reason why the variant is unavailable here, to be freed; NULL: it is available. */
static char *lack_of(const struct variant *v)
{
	const char *why = v->available ? v->available() : NULL;

	return why ? strdup(why) : NULL;
}

static void add_note(struct planned *p, char *note)
{
	if (note)
		json_array_append_new(p->notes, utf8_json(note));
	free(note);
}

static bool all_fast(const struct machine *m, const int *cpu, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const struct cpu *one = machine_cpu(m, cpu[i]);

		if (!one || kinds_rank(m, one) || one->kind != machine_cpu(m, *cpu)->kind)
			return false;
	}
	return true;
}

/*
 * If there are several kinds of cores, notes the kinds used, unless all threads are on the fastest.
 */
static void note_kinds(struct planned *p)
{
	const struct machine *m = p->trial.machine;

	p->kinds = kinds_text(m, p->cpu, p->cpus);
	if (p->kinds && !all_fast(m, p->cpu, p->cpus))
		add_note(p, text_of("its threads %s cores of these kinds: %s",
				    p->trial.floating ? "float over" : "are on", p->kinds));
}

/* Plans all but the identity. 0; EXIT_BAD: no memory; or an exit status after a message. */
static int plan_one(struct planned *p, const struct request *r, const struct point *at)
{
	const struct options *o = r->options;
	const struct preset preset = profile_preset(r->benchmark, o->profile);
	union value *value = copy_values(r->benchmark, at->value);
	int status;

	*p = (struct planned){
		.trial = { .benchmark = r->benchmark,
			   .variant = at->variant,
			   .value = value,
			   .threads = at->threads,
			   .machine = r->setting->machine,
			   .seed = o->seed,
			   .ranks = r->setting->ranks,
			   .memory = fit_most(r->setting) },
		.sample = o->duration > 0 ? o->duration : preset.sample,
		/* --case-budget replaces a published number of samples */
		.repeats = o->repeats || o->case_budget > 0 ? o->repeats : preset.repeats,
		.notes = json_array(),
	};
	if (!value)
		return EXIT_BAD;
	status = resolve(&p->trial, r, value);
	if (!status)
		status = fit_threads(p, r, at->layout);
	if (!status && !p->refusal)
		note_kinds(p);
	if (!status && !p->refusal)
		p->refusal = lack_of(at->variant);
	if (status || p->refusal)
		return status;
	if (r->benchmark->needs)
		p->needs = r->benchmark->needs(&p->trial);
	if (!p->needs.pointless)
		p->refusal = fit_refusal(r->setting, &p->trial, p->needs.bytes);
	return 0;
}

/*
 * How an input file is read, if that was a guess, else NULL. Prints it when the plan first meets
 * the file.
 */
static const char *guess_of(const struct planned *p, const struct plan *plan, unsigned parameter)
{
	const struct parameter *file = &plan->benchmark->parameters[parameter];
	const char *path = p->trial.value[parameter].text;
	char *guess;

	if (!file->guess || !file->input(p->trial.value))
		return NULL;
	if (!json_object_get(plan->guesses, path)) {
		guess = file->guess(path);
		json_object_set_new(plan->guesses, path, guess ? utf8_json(guess) : json_null());
		if (guess && rank_of(p->trial.ranks) == 0)
			message("%s %s: %s", program_invocation_short_name, plan->benchmark->name,
				guess);
		free(guess);
	}
	return json_string_value(json_object_get(plan->guesses, path));
}

static void note_guesses(struct planned *p, const struct plan *plan)
{
	for (unsigned i = 0; i < plan->benchmark->n_parameters; i++) {
		const char *guess = guess_of(p, plan, i);

		if (guess)
			add_note(p, strdup(guess));
	}
}

/* Sets the trial's identity. 0, or an exit status after a message. */
static int identify(struct planned *p, const struct plan *plan, const struct request *r)
{
	const char *why;

	p->identity = identity_text(&p->trial, p->bind, plan->contents, &why);
	if (!p->identity)
		return request_refuse(r, why);
	p->hash = hash_text(p->identity);
	snprintf(p->id, sizeof(p->id), "%016" PRIx64, p->hash);
	return 0;
}

/*
 * Adds the trial. 0: the plan now owns its data; EXIT_BAD: no memory; or a status after a message.
 */
static int append(struct plan *plan, const struct planned *p, const struct request *r)
{
	struct planned *grown;
	char many[64];

	if (plan->trials == MOST_TRIALS) {
		snprintf(many, sizeof(many), "more than %d trials; choose fewer values",
			 MOST_TRIALS);
		return request_refuse(r, many);
	}
	if ((plan->trials & (plan->trials - 1)) == 0) { /* full: room for twice as many */
		grown = realloc(plan->trial,
				(plan->trials ? 2UL * plan->trials : 1) * sizeof(*grown));
		if (!grown)
			return EXIT_BAD;
		plan->trial = grown;
	}
	if (json_object_set_new(plan->ids, p->id, json_true()))
		return EXIT_BAD;
	plan->trial[plan->trials++] = *p;
	if (!p->refusal && p->trial.threads > plan->threads)
		plan->threads = p->trial.threads;
	return 0;
}

int planned_add(struct plan *plan, const struct request *r, const struct point *at)
{
	struct planned p;
	int status = plan_one(&p, r, at);

	if (!status && !r->options->benchmark && r->options->profile == QUICK && p.needs.lengthy)
		p.needs.pointless = p.needs.lengthy;
	if (!status && p.needs.pointless) {
		planned_leave_out(plan, p.needs.pointless);
		goto drop;
	}
	if (!status) {
		note_guesses(&p, plan);
		status = identify(&p, plan, r);
	}
	if (!status && (json_object_get(plan->ids, p.id) ||
			(r->options->only && !json_object_get(r->options->only, p.id))))
		goto drop;
	if (!status)
		status = append(plan, &p, r);
	if (!status)
		return 0;
	if (status == EXIT_BAD)
		request_refuse(r, "out of memory");
drop:
	planned_free(&p);
	return status;
}

void planned_leave_out(struct plan *plan, const char *why)
{
	if (!plan->refused++)
		plan->why_refused = why;
}
