/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/judge/verdict.h"
#include "harness/record/json.h"
#include "harness/run/details.h"
#include "harness/run/flat.h"
#include "harness/run/shown.h"
#include "harness/run/table.h"
#include "base/wrapped.h"
#include "machine/topology/topology.h"
#include "base/text.h"
#include "base/utf8.h"
#include "base/message.h"

/* Ranks of remarks: the first reasons by gravity of the status, then other reasons, then notes. */
enum { ALSO = STATUSES, NOTE };

/* NULL when a trial is possible; else the first reason, and whether there are others. */
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
	*t = (struct table){ .cells = { .to = to,
					.markdown = format == FORMAT_MARKDOWN,
					.coloured = to && format == FORMAT_TABLE &&
						    may_be_coloured(to) },
			     .errors = errors,
			     .format = format };
}

bool table_is_read(const struct table *t)
{
	return t->cells.to && (t->format == FORMAT_TABLE || t->format == FORMAT_MARKDOWN);
}

void table_begin(struct table *t, const struct plan *plan)
{
	const char *refusal;
	bool others;

	t->plan = plan;
	t->titled = false;
	columns_find(&t->columns, plan);
	refusal = refusal_of(plan, &others);
	t->silent = !t->cells.to || (refusal && table_is_read(t));
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

/* "variant", "size", ...: what tells trials apart, then what is measured. */
static void print_head(const struct table *t)
{
	const struct cells *c = &t->cells;

	for (unsigned i = 0; i < t->columns.n; i++)
		cells_left(c, columns_title(&t->columns, i), t->columns.column[i].width);
	cells_right(c, headline(t)->name, value_width(t));
	cells_right(c, "± 95 %", INTERVAL_WIDTH);
	if (t->plan->benchmark->unit.cycles)
		cells_right(c, "cycles", CYCLES_WIDTH);
	if (has_local(t))
		cells_right(c, "local", LOCAL_WIDTH);
	cells_last(c, "status", NULL);
	cells_rule(c, t->columns.n, 2U + t->plan->benchmark->unit.cycles + has_local(t));
}

/* Says why variants were left out; those that are named are measured all the same. */
static void print_left_out(const struct table *t)
{
	char *text = text_of("%s (left out unless --variant names them)", t->plan->left_out);

	fputs(t->cells.markdown ? "\n" : "", t->cells.to);
	if (text)
		wrapped_print(text, 2, t->cells.to);
	free(text);
}

/* What intervals are about: another process, or another hour, may have another clock. */
static const char about[] = "±: 95 % interval for this process and time (--runs N: others); in "
			    "brackets the range of too few";

/* What all trials have in common is said once. */
static void print_title(struct table *t)
{
	const struct benchmark *b = t->plan->benchmark;
	const struct ranks *ranks = t->plan->trial[0].trial.ranks;
	FILE *f = t->cells.to;
	char *shared = columns_shared(&t->columns),
	     *title = ranks ? text_of("%s over %u rank%s with that many threads each: %s", b->name,
				      ranks->ranks, ranks->ranks > 1 ? "s" : "", b->protocol.text)
			    : text_of("%s: %s", b->name, b->protocol.text);

	if (t->any)
		fputc('\n', f);
	if (title)
		wrapped_print(title, 2, f);
	if (shared && *shared) {
		fputs(t->cells.markdown ? "\n" : "", f);
		wrapped_print(shared, 2, f);
	}
	if (t->plan->left_out)
		print_left_out(t);
	fputs(t->cells.markdown ? "\n" : "", f);
	wrapped_print(about, 2, f);
	fputs(t->cells.markdown ? "\n" : "", f);
	print_head(t);
	free(title);
	free(shared);
	t->titled = true;
}

/* ---- rows ---- */

/* The share of pages that lie on the node of the threads that use them. */
static char *show_local(const json_t *trial, char text[SHOWN_ROOM])
{
	const json_t *placement = json_object_get(trial, "placement");
	const double local = record_real(json_object_get(placement, "local_share"));
	const char *how = json_string_value(json_object_get(placement, "how"));

	if (isfinite(local))
		snprintf(text, SHOWN_ROOM, "%.0f %%", 100 * local);
	else
		snprintf(text, SHOWN_ROOM, "%s", how && strcmp(how, "verified") ? "?" : "-");
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
		cells_left(&t->cells, trial ? columns_cell(&t->columns, i, trial, cell) : "",
			   t->columns.column[i].width);
}

static void print_numbers(const struct table *t, const struct shown_mode *m, const char *local)
{
	const struct cells *c = &t->cells;

	cells_right(c, m->value, value_width(t));
	cells_right(c, m->share, INTERVAL_WIDTH);
	if (t->plan->benchmark->unit.cycles)
		cells_right(c, m->cycles, CYCLES_WIDTH);
	if (has_local(t))
		cells_right(c, local, LOCAL_WIDTH);
}

/* A trial with two modes has no single value: a row for each. */
static void print_row(const struct table *t, const struct planned *p, const json_t *trial)
{
	static const char *const colour[STATUSES] = {
		[STATUS_OK] = "32",	 [STATUS_UNCONVERGED] = "33", [STATUS_NOISY] = "33",
		[STATUS_BIMODAL] = "33", [STATUS_INTERRUPTED] = "35", [STATUS_MISPLACED] = "31",
		[STATUS_WRONG] = "31",	 [STATUS_FAILED] = "31",      [STATUS_IMPOSSIBLE] = "35",
	};
	const enum status status = status_of(trial);
	const json_t *first = json_array_get(json_object_get(trial, "metrics"), 0);
	struct shown_mode of[SHOWN_MODES];
	char local[SHOWN_ROOM];
	const unsigned modes = shown_modes(trial, of);

	if (!modes) {
		shown_value(first, of[0].value);
		shown_interval(first, of[0].share);
		shown_cycles(record_real(json_object_get(trial, "cycles")), of[0].cycles);
	}
	print_names(t, &p->trial);
	print_numbers(t, &of[0], show_local(trial, local));
	cells_last(&t->cells, status_names[status], colour[status]);
	for (unsigned i = 1; i < modes; i++) {
		print_names(t, NULL);
		print_numbers(t, &of[i], "");
		cells_last(&t->cells, "", NULL);
	}
}

/* The first reason explains the status; the others are of no greater gravity. */
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
	if (!t->cells.markdown) /* in Markdown, lines between rows would end the table */
		details_print(trial, t->cells.to);
}

void table_row(struct table *t, const struct planned *p, const json_t *trial)
{
	if (t->errors)
		collect_error(t, trial);
	if (t->silent)
		return;
	switch (t->format) {
	case FORMAT_TABLE:
	case FORMAT_MARKDOWN:
		print_for_people(t, p, trial);
		break;
	case FORMAT_CSV:
		flat_csv(trial, !t->any, t->cells.to);
		break;
	case FORMAT_JSON:
		flat_json(trial, !t->any, t->cells.to);
		break;
	}
	t->any = true;
	fflush(t->cells.to);
}

/* ---- after the rows ---- */

static void print_errors(const struct table *t)
{
	char *mark = text_of("%s %s: ", program_invocation_short_name, t->plan->benchmark->name);

	if (mark)
		remarks_print(&t->remarks, mark, t->errors);
	free(mark);
}

void table_end(struct table *t)
{
	if (!t->plan)
		return;
	if (t->titled) {
		ratio_rows_print(&t->ratios, &t->cells);
		fputs(t->remarks.n ? "\n" : "", t->cells.to);
		remarks_print(&t->remarks, t->cells.markdown ? "- " : "", t->cells.to);
		fflush(t->cells.to);
	}
	if (t->errors)
		print_errors(t);
	remarks_free(&t->remarks);
	ratio_rows_free(&t->ratios);
	t->plan = NULL;
}

void table_close(struct table *t)
{
	table_end(t);
	if (t->cells.to && t->format == FORMAT_JSON)
		flat_json_end(!t->any, t->cells.to);
}
