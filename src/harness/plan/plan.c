/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/plan/expand.h"
#include "harness/plan/factors.h"
#include "harness/plan/group.h"
#include "harness/plan/tournament.h"
#include "harness/plan/plan.h"
#include "harness/ask/profile.h"
#include "harness/ask/value.h"
#include "harness/plan/varying.h"
#include "machine/topology/topology.h"
#include "base/message.h"

/* An output option is for a single trial. 0, or an exit status after a message. */
static int check_outputs(const struct plan *plan, const struct request *r)
{
	unsigned trials = 0;
	char why[256];

	for (unsigned i = 0; i < plan->trials; i++)
		trials += !plan->trial[i].refusal;
	for (unsigned i = 0; i < r->benchmark->n_parameters && trials > 1; i++) {
		const struct parameter *p = &r->benchmark->parameters[i];
		const char *given = r->options->parameter[i];

		if (!p->output || !given ||
		    !strcmp(given, profile_value(p->value, r->options->profile)))
			continue;
		snprintf(why, sizeof(why),
			 "it is for one trial, and there are %u: choose one with --variant, "
			 "--threads and the parameters (--dry-run shows them)",
			 trials);
		return request_refuse(r, p->name, why);
	}
	return 0;
}

/* ---- names ---- */

/* The name in messages and progress: it has only what varies. */
static void name_trial(struct planned *p, const struct varying *varies)
{
	const struct trial *t = &p->trial;
	const struct benchmark *b = t->benchmark;
	const int size = sizeof(p->name);
	int used = snprintf(p->name, sizeof(p->name), "%s/%s", b->name, t->variant->name);
	char text[VALUE_ROOM];

	for (unsigned i = 0; i < b->n_parameters && used < size; i++)
		if (varies->parameter[i] && parameter_applies(b, t->variant, i))
			used += snprintf(
				p->name + used, (size_t)(size - used), " %s=%s",
				b->parameters[i].name,
				value_show(&b->parameters[i], t->value[i], text, sizeof(text)));
	if (varies->threads && used < size)
		snprintf(p->name + used, (size_t)(size - used), " threads=%u", t->threads);
}

static void name_trials(struct plan *plan)
{
	const struct varying varies = varying_find(plan);

	for (unsigned i = 0; i < plan->trials; i++)
		name_trial(&plan->trial[i], &varies);
}

/* ---- the plan ---- */

/* Whether the variant needs several nodes, and the machine has one. */
static bool lacks_nodes(const struct request *r, const struct variant *v)
{
	return v->several_nodes && r->setting->machine->nodes == 1;
}

/* Whether a parameter was given that only variants for several nodes have: one of them is meant. */
static bool is_meant(const struct request *r, const struct variant *v)
{
	const struct benchmark *b = r->benchmark;

	for (unsigned i = 0; i < b->n_parameters; i++) {
		bool meant = r->options->parameter[i] && parameter_applies(b, v, i);

		for (unsigned k = 0; k < b->n_variants && meant; k++)
			meant = lacks_nodes(r, &b->variants[k]) ||
				!parameter_applies(b, &b->variants[k], i);
		if (meant)
			return true;
	}
	return false;
}

/* Whether the variant is left out: it shows nothing on one node, and nobody asked for it. */
static bool leave_out(struct plan *plan, const struct request *r, const struct variant *v)
{
	if (r->options->variant || !lacks_nodes(r, v) || is_meant(r, v))
		return false;
	plan->left_out = "there is one NUMA node here: which one pages and threads are on cannot "
			 "matter";
	return true;
}

/* The trials of all variants that are asked for. 0, or an exit status after a message. */
static int add_trials(struct plan *plan, const struct request *r)
{
	const unsigned variants = r->benchmark->n_variants;
	struct factors factors = { .request = r };
	bool wanted[variants];
	int status = factors_variants(r, wanted);

	for (unsigned i = 0; !status && i < variants; i++) {
		if (!wanted[i] || leave_out(plan, r, &r->benchmark->variants[i]))
			continue;
		status = factors_read(&factors, &r->benchmark->variants[i]);
		if (!status)
			status = expand(plan, &factors);
		factors_free(&factors);
	}
	return status;
}

static int refuse_empty(const struct plan *plan, const struct request *r)
{
	message("%s %s: no trial is left: %s", program_invocation_short_name, r->benchmark->name,
		plan->why_refused ? plan->why_refused : "no variant was chosen");
	return r->options->benchmark ? EXIT_COMMAND_LINE : 0; /* a suite has other benchmarks */
}

int plan_make(struct plan *plan, const struct benchmark *b, const struct options *o,
	      const struct setting *setting)
{
	const struct request request = { b, o, setting };
	int status;

	*plan = (struct plan){ .benchmark = b,
			       .ids = json_object(),
			       .contents = json_object(),
			       .guesses = json_object() };
	status = add_trials(plan, &request);
	if (!status)
		status =
			plan->trials ? check_outputs(plan, &request) : refuse_empty(plan, &request);
	if (!status && plan->trials) {
		plan_group(plan, setting);
		name_trials(plan);
	}
	if (status || !plan->trials)
		plan_free(plan);
	return status;
}

void plan_free(struct plan *plan)
{
	for (unsigned i = 0; i < plan->trials; i++)
		planned_free(&plan->trial[i]);
	free(plan->trial);
	json_decref(plan->ids);
	json_decref(plan->contents);
	json_decref(plan->guesses);
	plan->trial = NULL;
	plan->ids = plan->contents = plan->guesses = NULL;
	plan->trials = 0;
}

double plan_tournament(const struct planned *p)
{
	const struct trial *t = &p->trial;

	if (t->benchmark->protocol.scored != IN_PAIRS || p->refusal)
		return 0;
	return (double)tournament_rounds(t->threads) * p->needs.meetings *
	       (p->sample + 20e-6 + 2e-6 * t->threads);
}
