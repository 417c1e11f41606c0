/* SPDX-License-Identifier: Apache-2.0 */
/* What --dry-run prints. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/plan/plan.h"
#include "base/message.h"
#include "base/text.h"
#include "harness/ask/parameters.h"
#include "machine/topology/topology.h"

/*
 * The number of places from the first on that are on one node, with a constant step between CPU
 * numbers.
 */
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

/* The number of allocations that a trial may have before its last. */
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

/* Bytes that a plan holds at once, and the further bytes that its earlier allocations may hold. */
struct held {
	double most, earlier;
};

static struct held held_of(const struct plan *plan, const struct setting *setting)
{
	struct held held = { 0 };
	double bytes = 0, before = 0;

	for (unsigned i = 0; i < plan->trials; i++) {
		const struct planned *p = &plan->trial[i];

		if (i == 0 || p->group != plan->trial[i - 1].group)
			bytes = before = 0;
		bytes += p->refusal ? 0 : (double)p->needs.bytes;
		if (!p->refusal && (double)p->needs.bytes <= plan_quarantine_each(setting))
			before += (double)p->needs.bytes * earlier(p);
		held.most = fmax(held.most, bytes);
		held.earlier =
			fmax(held.earlier, fmin(plan_quarantine_room(setting, bytes), before));
	}
	return held;
}

static void print_held(struct held held, FILE *f)
{
	char text[TEXT_BYTES];

	fprintf(f, "memory held at once: %s", text_bytes(text, (uint64_t)held.most));
	if (held.earlier > 0)
		fprintf(f, "; earlier allocations hold up to %s more",
			text_bytes(text, (uint64_t)held.earlier));
}

static void print_left_out(const struct plan *plan, FILE *f)
{
	if (plan->refused)
		fprintf(f, "%s left out: %s\n", text_count(plan->refused, "combination").of,
			plan->why_refused);
	if (plan->left_out)
		fprintf(f, "variants left out: %s\n", plan->left_out);
}

void plan_print(const struct plan *plan, const struct setting *setting, double seconds, FILE *f)
{
	fprintf(f, "%s on %s: %s in %s; trials of a group are sampled in turn\n",
		plan->benchmark->name, setting->machine->name, text_count(plan->trials, "trial").of,
		text_count(plan->groups, "group").of);
	for (unsigned i = 0; i < plan->trials; i++) {
		if (i == 0 || plan->trial[i].group != plan->trial[i - 1].group)
			fprintf(f, "group %u\n", plan->trial[i].group + 1);
		print_trial(&plan->trial[i], f);
	}
	print_left_out(plan, f);
	print_held(held_of(plan, setting), f);
	if (isfinite(seconds))
		print_time(seconds, f);
	fputc('\n', f);
}

/* ---- in short: a line for each group ---- */

enum { SHOWN = 12, CELL = 96 }; /* values that a line lists, and bytes of each */

/* Whether the values are numbers: of more than three, only the first and the last are shown. */
static bool is_number(const struct benchmark *b, unsigned of)
{
	static const bool numbers[] = {
		[P_COUNT] = true, [P_SIZE] = true, [P_REAL] = true, [P_DERIVED] = true
	};

	return of == P_THREADS || (of != P_VARIANT && numbers[b->parameters[of].type]);
}

/* The value of a parameter, of P_VARIANT or P_THREADS as text; NULL: the trial has none. */
static const char *shown(const struct planned *p, unsigned of, char text[VALUE_ROOM])
{
	const struct trial *t = &p->trial;

	if (of == P_VARIANT)
		return t->variant->name;
	if (of == P_THREADS) {
		snprintf(text, VALUE_ROOM, "%u", t->threads);
		return text;
	}
	if (!parameter_applies(t->benchmark, t->variant, of) || t->benchmark->parameters[of].output)
		return NULL;
	return value_show(&t->benchmark->parameters[of], t->value[of], text, VALUE_ROOM);
}

/* "size 4 KiB..64 MiB", "pages base, thp": the different values of n trials, after `before`. */
static void print_values(const struct planned *p, unsigned n, unsigned of, const char *before,
			 FILE *f)
{
	char known[SHOWN][CELL], text[VALUE_ROOM], last[CELL] = "";
	unsigned values = 0, listed;

	for (unsigned i = 0; i < n; i++) {
		const char *value = shown(&p[i], of, text);
		bool is_known = !value;

		for (unsigned j = 0; j < values && j < SHOWN && !is_known; j++)
			is_known = !strncmp(known[j], value, CELL - 1);
		if (is_known)
			continue;
		if (values < SHOWN)
			snprintf(known[values], CELL, "%.*s", CELL - 1, value);
		snprintf(last, CELL, "%.*s", CELL - 1, value);
		values++;
	}
	listed = values > SHOWN || (values > 3 && is_number(p->trial.benchmark, of)) ? 1 : values;
	for (unsigned j = 0; j < listed; j++)
		fprintf(f, "%s%s", j ? ", " : before, known[j]);
	if (listed < values)
		fprintf(f, "..%s", last);
}

static void print_group(const struct planned *p, unsigned n, const struct varying *varies, FILE *f)
{
	const struct benchmark *b = p->trial.benchmark;
	char *text = NULL, before[64], bytes[TEXT_BYTES];
	unsigned impossible = 0;
	double held = 0;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return;
	for (unsigned i = 0; i < n; i++) {
		impossible += p[i].refusal != NULL;
		held += p[i].refusal ? 0 : (double)p[i].needs.bytes;
	}
	fprintf(to, "group %u: %s, %s: ", p->group + 1, text_count(n, "trial").of,
		text_bytes(bytes, (uint64_t)held));
	print_values(p, n, P_VARIANT, "", to);
	for (unsigned i = 0; i < b->n_parameters; i++) {
		snprintf(before, sizeof(before), "; %s ", b->parameters[i].name);
		if (varies->parameter[i])
			print_values(p, n, i, before, to);
	}
	if (varies->threads)
		print_values(p, n, P_THREADS, "; threads ", to);
	if (impossible)
		fprintf(to, "; %u impossible here", impossible);
	fclose(to);
	if (text)
		message_print(text, 2, f);
	free(text);
}

/*
 * A line for one benchmark of several; a single benchmark also has its time, and a line for each
 * group.
 */
static void outline(const struct plan *plan, const struct setting *setting, double seconds, FILE *f)
{
	const struct varying varies = varying_find(plan);
	char *head = NULL;
	size_t size;
	FILE *to = open_memstream(&head, &size);

	if (!to)
		return;
	fprintf(to, "%s on %s: %s in %s; ", plan->benchmark->name, setting->machine->name,
		text_count(plan->trials, "trial").of, text_count(plan->groups, "group").of);
	print_held(held_of(plan, setting), to);
	if (isfinite(seconds))
		print_time(seconds, to);
	fclose(to);
	if (head)
		message_print(head, 2, f);
	free(head);
	for (unsigned i = 0, n; i < plan->trials && isfinite(seconds); i += n) {
		for (n = 1;
		     i + n < plan->trials && plan->trial[i + n].group == plan->trial[i].group;)
			n++;
		print_group(&plan->trial[i], n, &varies, f);
	}
	print_left_out(plan, f);
}

/* ---- all benchmarks ---- */

void plans_print(const struct plans *p, const struct setting *setting, double seconds, bool all,
		 FILE *f)
{
	const bool several = p->plans > 1;

	if (several) {
		fprintf(f, "suite on %s: %s of %s", setting->machine->name,
			text_count(p->trials, "trial").of, text_count(p->plans, "benchmark").of);
		print_time(seconds, f);
		fputc('\n', f);
	}
	for (unsigned i = 0; i < p->plans; i++)
		(all ? plan_print : outline)(&p->plan[i], setting, several ? NAN : seconds, f);
	if (!all)
		fprintf(f,
			"trials of a group are sampled in turn; --verbose lists them, with their "
			"CPUs\n");
}
