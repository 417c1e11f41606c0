/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/message.h"
#include "base/text.h"
#include "base/utf8.h"
#include "harness/judge/verdict.h"
#include "harness/record/record.h"
#include "harness/run/table.h"
#include "machine/clock.h"
#include "machine/topology/topology.h"

/* Order of remarks: first reasons, by gravity of the status; then other reasons; then notes. */
enum { ALSO = STATUSES, NOTE };

/* NULL if a trial is possible; else the first reason, and whether there are others. */
static const char *refusal_of(const struct plan *plan, bool *others)
{
	const char *first = plan->trial[0].refusal;

	*others = false;
	for (unsigned i = 0; i < plan->trials; i++) {
		if (!plan->trial[i].refusal)
			return NULL;
		*others |= strcmp(plan->trial[i].refusal, first) != 0;
	}
	return first;
}

/* https://no-color.org: a variable that is set, and not empty. */
static bool may_be_coloured(FILE *to)
{
	const char *refused = getenv("NO_COLOR"), *terminal = getenv("TERM");

	return (!refused || !*refused) && terminal && strcmp(terminal, "dumb") &&
	       isatty(fileno(to));
}

void table_open(struct table *t, FILE *to, FILE *errors, enum format format)
{
	*t = (struct table){ .printer = { .to = to,
					  .markdown = format == FORMAT_MARKDOWN,
					  .coloured = to && format == FORMAT_TABLE &&
						      may_be_coloured(to) },
			     .errors = errors,
			     .format = format };
}

bool table_is_read(const struct table *t)
{
	return t->printer.to && (t->format == FORMAT_TABLE || t->format == FORMAT_MARKDOWN);
}

void table_begin(struct table *t, const struct plan *plan)
{
	const char *refusal;
	bool others;

	t->plan = plan;
	t->titled = false;
	t->began = clock_now();
	memset(t->count, 0, sizeof(t->count));
	columns_find(&t->columns, plan);
	refusal = refusal_of(plan, &others);
	t->silent = !t->printer.to || t->brief || (refusal && table_is_read(t));
	if (refusal)
		message("%s %s: impossible here: %s%s", program_invocation_short_name,
			plan->benchmark->name, refusal,
			others ? " (and other trials for other reasons)" : "");
}

/* ---- title ---- */

enum { INTERVAL_WIDTH = 12, CYCLES_WIDTH = 6, LOCAL_WIDTH = 6 };

static const struct metric *headline(const struct table *t)
{
	return &t->plan->benchmark->metrics[0];
}

static int value_width(const struct table *t)
{
	const int title = utf8_width(headline(t)->name),
		  value = utf8_width("999.9 n") + utf8_width(headline(t)->unit);

	return title > value ? title : value;
}

/* On one node nothing is remote. */
static bool has_local(const struct table *t)
{
	return t->plan->trial[0].trial.machine->nodes > 1;
}

/* "variant", "size", ...: the differences between trials, then the measured values. */
static void print_head(const struct table *t)
{
	const struct printer *c = &t->printer;

	for (unsigned i = 0; i < t->columns.n; i++)
		printer_left(c, columns_title(&t->columns, i), t->columns.column[i].width);
	printer_right(c, headline(t)->name, value_width(t));
	printer_right(c, "± 95 %", INTERVAL_WIDTH);
	if (t->plan->benchmark->unit.cycles)
		printer_right(c, "cycles", CYCLES_WIDTH);
	if (has_local(t))
		printer_right(c, "local", LOCAL_WIDTH);
	printer_last(c, "status", NULL);
	printer_rule(c, t->columns.n, 2U + t->plan->benchmark->unit.cycles + has_local(t));
}

/* Says why variants were left out; a variant named on the command line is measured all the same. */
static void print_left_out(const struct table *t)
{
	char *text = text_of("%s (left out unless --variant names them)", t->plan->left_out);

	fputs(t->printer.markdown ? "\n" : "", t->printer.to);
	if (text)
		message_print(text, 2, t->printer.to);
	free(text);
}

/* What intervals cover: another process, or another hour, may have another clock. */
static const char about[] = "±: 95 % interval for this process and time (--runs N: others); "
			    "[range] if allocations are too few";

/* Prints once what all trials have in common. */
static void print_title(struct table *t)
{
	const struct benchmark *b = t->plan->benchmark;
	const struct ranks *ranks = t->plan->trial[0].trial.ranks;
	FILE *f = t->printer.to;
	char *shared = columns_shared(&t->columns),
	     *title = ranks ? text_of("%s over %u rank%s with that many threads each: %s", b->name,
				      ranks->ranks, ranks->ranks > 1 ? "s" : "", b->protocol.text)
			    : text_of("%s: %s", b->name, b->protocol.text);

	if (t->any)
		fputc('\n', f);
	if (title)
		message_print(title, 2, f);
	if (shared && *shared) {
		fputs(t->printer.markdown ? "\n" : "", f);
		message_print(shared, 2, f);
	}
	if (t->plan->left_out)
		print_left_out(t);
	fputs(t->printer.markdown ? "\n" : "", f);
	message_print(about, 2, f);
	fputs(t->printer.markdown ? "\n" : "", f);
	print_head(t);
	free(title);
	free(shared);
	t->titled = true;
}

/* ---- rows ---- */

/* The share of pages that lie on the node of the threads that use them. */
static char *show_local(const json_t *trial, char text[TABLE_CELL])
{
	const json_t *placement = json_object_get(trial, "placement");
	const double local = record_real(json_object_get(placement, "local_share"));
	const char *how = json_string_value(json_object_get(placement, "how"));

	if (isfinite(local))
		snprintf(text, TABLE_CELL, "%.0f %%", 100 * local);
	else
		snprintf(text, TABLE_CELL, "%s", how && strcmp(how, "verified") ? "?" : "-");
	return text;
}

static enum status status_of(const json_t *trial)
{
	return status_named(json_string_value(json_object_get(trial, "status")));
}

/* NULL: blank cells. */
static void print_names(const struct table *t, const struct trial *trial)
{
	char cell[COLUMNS_ROOM];

	for (unsigned i = 0; i < t->columns.n; i++)
		printer_left(&t->printer, trial ? columns_cell(&t->columns, i, trial, cell) : "",
			     t->columns.column[i].width);
}

static void print_numbers(const struct table *t, const struct display_mode *m, const char *local)
{
	const struct printer *c = &t->printer;

	printer_right(c, m->value, value_width(t));
	printer_right(c, m->share, INTERVAL_WIDTH);
	if (t->plan->benchmark->unit.cycles)
		printer_right(c, m->cycles, CYCLES_WIDTH);
	if (has_local(t))
		printer_right(c, local, LOCAL_WIDTH);
}

/* A trial with two modes has no single value, but a row for each. */
static void print_row(const struct table *t, const struct planned *p, const json_t *trial)
{
	static const char *const colour[STATUSES] = {
		[STATUS_OK] = "32",	 [STATUS_UNCONVERGED] = "33", [STATUS_NOISY] = "33",
		[STATUS_BIMODAL] = "33", [STATUS_INTERRUPTED] = "35", [STATUS_MISPLACED] = "31",
		[STATUS_WRONG] = "31",	 [STATUS_FAILED] = "31",      [STATUS_IMPOSSIBLE] = "35",
	};
	const enum status status = status_of(trial);
	const json_t *first = json_array_get(json_object_get(trial, "metrics"), 0);
	struct display_mode of[DISPLAY_MODES];
	char local[TABLE_CELL];
	const unsigned modes = display_modes(trial, of);

	if (!modes) {
		display_value(first, of[0].value);
		display_interval(first, of[0].share);
		display_cycles(record_real(json_object_get(trial, "cycles")), of[0].cycles);
	}
	print_names(t, &p->trial);
	print_numbers(t, &of[0], show_local(trial, local));
	printer_last(&t->printer, status_names[status], colour[status]);
	for (unsigned i = 1; i < modes; i++) {
		print_names(t, NULL);
		print_numbers(t, &of[i], "");
		printer_last(&t->printer, "", NULL);
	}
}

/* The first reason explains the status; the others are not graver. */
static void collect_remarks(struct table *t, const json_t *trial)
{
	const enum status status = status_of(trial);
	const json_t *sentence;
	size_t i;

	json_array_foreach(json_object_get(trial, "reasons"), i, sentence)
		remarks_add(&t->remarks, i ? ALSO : STATUS_IMPOSSIBLE - status,
			    i ? "also" : status_names[status], json_string_value(sentence));
	json_array_foreach(json_object_get(trial, "notes"), i, sentence)
		remarks_add(&t->remarks, NOTE, "trial", json_string_value(sentence));
}

static void collect_error(struct table *t, const json_t *trial)
{
	const enum status status = status_of(trial);
	const json_t *reasons = json_object_get(trial, "reasons");

	if (status >= STATUS_MISPLACED)
		remarks_add(&t->remarks, STATUS_IMPOSSIBLE - status, status_names[status],
			    json_string_value(json_array_get(reasons, 0)));
}

static void print_for_people(struct table *t, const struct planned *p, const json_t *trial)
{
	if (!t->titled)
		print_title(t);
	print_row(t, p, trial);
	collect_remarks(t, trial);
	ratio_rows_add(&t->ratios, &t->columns, &p->trial, trial);
	if (!t->printer.markdown) /* in Markdown, lines between rows would end the table */
		display_details(trial, t->printer.to);
}

void table_row(struct table *t, const struct planned *p, const json_t *trial)
{
	if (t->errors || t->brief)
		collect_error(t, trial);
	t->count[status_of(trial)]++;
	if (t->silent)
		return;
	switch (t->format) {
	case FORMAT_TABLE:
	case FORMAT_MARKDOWN:
		print_for_people(t, p, trial);
		break;
	case FORMAT_CSV:
		flat_csv(trial, !t->any, t->printer.to);
		break;
	case FORMAT_JSON:
		flat_json(trial, !t->any, t->printer.to);
		break;
	}
	t->any = true;
	fflush(t->printer.to);
}

/* ---- after the rows ---- */

static void print_errors(const struct table *t)
{
	char *mark = text_of("%s %s: ", program_invocation_short_name, t->plan->benchmark->name);

	if (mark)
		remarks_print(&t->remarks, mark, t->errors);
	free(mark);
}

/* "latency        41 trials in 7 s: 2 ok, 39 unconverged", and below it why trials failed. */
static void print_brief(const struct table *t)
{
	FILE *f = t->printer.to;
	unsigned trials = 0;
	const char *before = ": ";

	for (unsigned i = 0; i < STATUSES; i++)
		trials += t->count[i];
	fprintf(f, "%-13s %10s in %3.0f s", t->plan->benchmark->name,
		trials ? text_count(trials, "trial").of : "no trial", clock_now() - t->began);
	for (unsigned i = 0; i < STATUSES; i++)
		if (t->count[i]) {
			fprintf(f, "%s%u %s", before, t->count[i], status_names[i]);
			before = ", ";
		}
	fputc('\n', f);
	remarks_print(&t->remarks, "  ", f);
	fflush(f);
}

/* What the statuses of the rows mean. */
static void print_words(const struct table *t)
{
	FILE *f = t->printer.to;
	const char *before = t->printer.markdown ? "- " : "";
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	for (unsigned i = STATUS_OK + 1; to && i < STATUSES; i++) {
		const char *meaning = t->count[i] ? glossary_meaning(status_names[i]) : NULL;

		if (!meaning)
			continue;
		fprintf(to, "%s%s: %.*s", before, status_names[i], (int)strcspn(meaning, ";"),
			meaning);
		before = "; ";
	}
	if (to && !fclose(to) && *text)
		message_print(text, 2, f);
	free(text);
}

void table_end(struct table *t)
{
	if (!t->plan)
		return;
	if (t->titled) {
		ratio_rows_print(&t->ratios, &t->printer);
		fputs(t->remarks.n ? "\n" : "", t->printer.to);
		remarks_print(&t->remarks, t->printer.markdown ? "- " : "", t->printer.to);
		print_words(t);
		fflush(t->printer.to);
	}
	if (t->errors)
		print_errors(t);
	if (t->brief)
		print_brief(t);
	remarks_free(&t->remarks);
	ratio_rows_free(&t->ratios);
	t->plan = NULL;
}

void table_close(struct table *t)
{
	table_end(t);
	if (t->printer.to && t->format == FORMAT_JSON)
		flat_json_end(!t->any, t->printer.to);
}
