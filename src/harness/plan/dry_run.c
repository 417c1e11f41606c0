/* SPDX-License-Identifier: Apache-2.0 */
/* What --dry-run prints. */
#include <math.h>

#include "harness/plan/plan.h"
#include "base/text.h"
#include "harness/ask/parameters.h"
#include "machine/topology/topology.h"

/* How many places from the first on are on one node, with a constant step between CPU numbers. */
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

/* The paths of input files: the identity has only the hash of their contents. */
static void print_inputs(const struct trial *t, FILE *f)
{
	const struct benchmark *b = t->benchmark;
	char text[VALUE_ROOM];

	for (unsigned i = 0; i < b->n_parameters; i++)
		if (b->parameters[i].input && b->parameters[i].input(t->value))
			fprintf(f, "    %s=%s\n", b->parameters[i].name,
				value_print(&b->parameters[i], t->value[i], text, sizeof(text)));
}

static void print_trial(const struct planned *p, FILE *f)
{
	const unsigned threads = p->trial.threads;
	char text[TEXT_BYTES];

	fprintf(f, "  %s  %s\n", p->id, p->identity);
	print_inputs(&p->trial, f);
	if (p->refusal) {
		fprintf(f, "    impossible: %s\n", p->refusal);
		return;
	}
	fprintf(f, "    %u thread%s on CPU%s", threads, threads > 1 ? "s" : "",
		threads > 1 ? "s" : "");
	print_places(p, f);
	if (p->kinds)
		fprintf(f, ", %s", p->kinds);
	fprintf(f, "; %s\n", text_bytes(text, p->needs.bytes));
	if (p->trial.benchmark->protocol.scored != IN_PAIRS)
		return;
	fprintf(f, "    %u rounds of %u disjoint pairs, %u times each: about %.2g s a batch\n",
		tournament_rounds(threads), threads / 2, p->needs.meetings, plan_tournament(p));
}

/* How many allocations a trial may have before its last. */
static unsigned earlier(const struct planned *p)
{
	return effort_most_allocations(p->repeats) - 1;
}

static void print_time(double seconds, FILE *f)
{
	char duration[TEXT_DURATION];

	fprintf(f, "; estimated time: %.0f s", seconds);
	if (seconds > 120)
		fprintf(f, " (%s)", text_duration(duration, seconds));
}

void plan_print(const struct plan *plan, const struct setting *setting, double seconds, FILE *f)
{
	char text[TEXT_BYTES];
	const struct text trials = text_count(plan->trials, "trial"),
			  groups = text_count(plan->groups, "group");
	const char *name = plan->benchmark->name, *machine = setting->machine->name;
	double most = 0, held = 0, bytes = 0, before = 0;

	fprintf(f, "%s on %s: %s in %s; trials of a group are sampled in turn\n", name, machine,
		trials.of, groups.of);
	for (unsigned i = 0; i < plan->trials; i++) {
		const struct planned *p = &plan->trial[i];

		if (i == 0 || p->group != plan->trial[i - 1].group) {
			fprintf(f, "group %u\n", p->group + 1);
			bytes = before = 0;
		}
		bytes += p->refusal ? 0 : (double)p->needs.bytes;
		if (!p->refusal && (double)p->needs.bytes <= plan_quarantine_each(setting))
			before += (double)p->needs.bytes * earlier(p);
		most = bytes > most ? bytes : most;
		held = fmax(held, fmin(plan_quarantine_room(setting, bytes), before));
		print_trial(p, f);
	}
	if (plan->refused)
		fprintf(f, "%u combinations left out: %s\n", plan->refused, plan->why_refused);
	if (plan->left_out)
		fprintf(f, "variants left out: %s\n", plan->left_out);
	fprintf(f, "memory held at once: %s", text_bytes(text, (uint64_t)most));
	if (held > 0)
		fprintf(f, "; earlier allocations hold up to %s more",
			text_bytes(text, (uint64_t)held));
	if (isfinite(seconds))
		print_time(seconds, f);
	fputc('\n', f);
}

void plans_print(const struct plans *p, const struct setting *setting, double seconds, FILE *f)
{
	const bool several = p->plans > 1;

	for (unsigned i = 0; i < p->plans; i++)
		plan_print(&p->plan[i], setting, several ? NAN : seconds, f);
	if (!several)
		return;
	fprintf(f, "suite on %s: %s of %s", setting->machine->name,
		text_count(p->trials, "trial").of, text_count(p->plans, "benchmark").of);
	print_time(seconds, f);
	fputc('\n', f);
}
