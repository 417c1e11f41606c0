/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of one benchmark: a trial for each combination of the lists of its variants. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "harness/ask/parameters.h"
#include "harness/plan/request.h"
#include "machine/threads/team.h"
#include "machine/topology/topology.h"

/* ---- the product of the lists ---- */

/* A word may stand for several layouts, each with its own number of threads. */
static int add_layouts(struct plan *plan, const struct factors *f, union value *value,
		       unsigned layout, unsigned threads)
{
	const struct request *r = f->request;
	const char *why = NULL, *word = value[layout].text;
	unsigned n;
	char **layouts = machine_layouts(r->setting->machine, word, threads, &n, &why);
	int status = 0;

	if (!layouts && r->options->parameter[layout]) {
		status = errno == EINVAL ? EXIT_COMMAND_LINE : EXIT_IMPOSSIBLE;
		request_refuse_option(r, r->benchmark->parameters[layout].name, why);
		return status;
	}
	/* the layout is a default, which --threads contradicts: nobody asked for both */
	if (!layouts) {
		planned_leave_out(plan, "--threads contradicts the layout's number of threads");
		return 0;
	}
	for (unsigned i = 0; !status && i < n; i++) {
		value[layout].text = layouts[i];
		status = planned_add(plan, r,
				     &(struct point){ f->variant, value,
						      machine_layout_threads(layouts[i]),
						      layouts[i] });
	}
	free(layouts);
	return status;
}

static int add_point(struct plan *plan, const struct factors *f, union value *value,
		     unsigned threads)
{
	const struct request *r = f->request;
	unsigned layout;

	if (factors_layout(r->benchmark, f->variant, &layout))
		return add_layouts(plan, f, value, layout, threads);
	return planned_add(plan, r,
			   &(struct point){ f->variant, value,
					    threads ? threads : r->setting->machine->cores, NULL });
}

/* Odometer over the parameters that the variant uses; the others keep a neutral value. */
static int multiply(struct plan *plan, const struct factors *f, unsigned threads)
{
	const struct benchmark *b = f->request->benchmark;
	const unsigned n = b->n_parameters;
	unsigned at[MOST_PARAMETERS] = { 0 }, i;
	union value value[MOST_PARAMETERS] = { 0 };
	int status;

	do {
		for (i = 0; i < n; i++)
			if (parameter_applies(b, f->variant, i))
				value[i] = f->parameter[i].value[at[i]];
		status = add_point(plan, f, value, threads);
		if (status)
			return status;
		for (i = n; i-- > 0;) {
			if (parameter_applies(b, f->variant, i) && ++at[i] < f->parameter[i].n)
				break;
			at[i] = 0;
		}
	} while (i < n); /* i wraps when the odometer does */
	return 0;
}

/*
 * Adds one trial for each combination of the variant's lists. Returns 0, or an exit status after a
 * message.
 */
static int expand(struct plan *plan, const struct factors *f)
{
	int status = 0;

	for (unsigned i = 0; !status && i < f->threads.n; i++)
		status = multiply(plan, f, (unsigned)f->threads.value[i].count);
	return status;
}

/* ---- variants that this machine leaves out ---- */

/* Whether the variant needs several nodes, and the machine has one. */
static bool lacks_nodes(const struct request *r, const struct variant *v)
{
	return v->several_nodes && r->setting->machine->nodes == 1;
}

/*
 * Whether a given parameter belongs only to variants for several nodes: then one of them is meant.
 */
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

/* Whether the variant is left out: it shows nothing on one node, and was not requested. */
static bool leave_out(struct plan *plan, const struct request *r, const struct variant *v)
{
	if (r->options->variant || !lacks_nodes(r, v) || is_meant(r, v))
		return false;
	plan->left_out = "this machine has one NUMA node: placement on nodes cannot matter";
	return true;
}

/* ---- names ---- */

static bool differ(const struct parameter *p, union value a, union value b)
{
	char one[VALUE_ROOM], other[VALUE_ROOM];

	return strcmp(value_print(p, a, one, sizeof(one)),
		      value_print(p, b, other, sizeof(other))) != 0;
}

struct varying varying_find(const struct plan *plan)
{
	const struct benchmark *b = plan->benchmark;
	const struct trial *first[MOST_PARAMETERS] = {
		NULL
	}; /* the first trial that has the parameter */
	bool lacked[MOST_PARAMETERS] = { false };
	struct varying varies = { 0 };

	for (unsigned i = 0; i < plan->trials; i++) {
		const struct trial *t = &plan->trial[i].trial, *begin = &plan->trial[0].trial;

		varies.variant |= t->variant != begin->variant;
		varies.threads |= t->threads != begin->threads;
		for (unsigned j = 0; j < b->n_parameters; j++) {
			const struct parameter *p = &b->parameters[j];

			if (!parameter_applies(b, t->variant, j))
				lacked[j] |= p->type == P_LAYOUT || p->type == P_NODE;
			else if (!first[j])
				first[j] = t;
			else
				varies.parameter[j] |= differ(p, t->value[j], first[j]->value[j]);
		}
	}
	/* print a layout or node even if it is always the same, but missing in some trials */
	for (unsigned j = 0; j < b->n_parameters; j++)
		varies.parameter[j] |= lacked[j] && first[j];
	return varies;
}

/* The name in messages and progress: it shows only what varies. */
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

/* An output option applies to a single trial. 0, or an exit status after a message. */
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
			 "it takes a single trial, and there are %u: choose one with --variant, "
			 "--threads and the parameters (--dry-run lists them)",
			 trials);
		return request_refuse_option(r, p->name, why);
	}
	return 0;
}

/* Adds the trials of all requested variants. 0, or an exit status after a message. */
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
