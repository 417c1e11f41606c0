/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table's cells, on a terminal or in Markdown, and its columns: the differences between its
 * trials.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/ask/parameters.h"
#include "harness/plan/plan.h"
#include "harness/run/table.h"
#include "base/text.h"
#include "base/utf8.h"

/* --- cells --- */

static void print_blanks(const struct printer *c, const char *text, int width)
{
	const int blanks = width - utf8_width(text);

	fprintf(c->to, "%*s", blanks > 0 ? blanks : 0, "");
}

static void begin(const struct printer *c)
{
	if (c->markdown)
		fprintf(c->to, "| ");
}

static void end(const struct printer *c)
{
	fputs(c->markdown ? " " : "  ", c->to);
}

/* A vertical line would end a cell of Markdown. */
static void print_text(const struct printer *c, const char *text)
{
	for (; *text; text++) {
		if (c->markdown && *text == '|')
			fputc('\\', c->to);
		fputc(*text, c->to);
	}
}

void printer_left(const struct printer *c, const char *text, int width)
{
	begin(c);
	print_text(c, text);
	print_blanks(c, text, width);
	end(c);
}

void printer_right(const struct printer *c, const char *text, int width)
{
	begin(c);
	print_blanks(c, text, width);
	print_text(c, text);
	end(c);
}

void printer_last(const struct printer *c, const char *text, const char *colour)
{
	begin(c);
	if (colour && c->coloured)
		fprintf(c->to, "\033[%sm%s\033[0m", colour, text);
	else
		print_text(c, text);
	fputs(c->markdown ? " |\n" : "\n", c->to);
}

void printer_rule(const struct printer *c, unsigned left, unsigned right)
{
	if (!c->markdown)
		return;
	for (unsigned i = 0; i < left; i++)
		fprintf(c->to, "|---");
	for (unsigned i = 0; i < right; i++)
		fprintf(c->to, "|--:");
	fprintf(c->to, "|---|\n");
}

/* --- columns --- */

/* Keeps the last characters of a text that is too long. */
static void shorten(const char *text, char cell[COLUMNS_ROOM])
{
	static const char dots[] = "...";
	int more = utf8_width(text) - COLUMNS_WIDEST;

	if (more <= 0) {
		snprintf(cell, COLUMNS_ROOM, "%s", text);
		return;
	}
	for (more += (int)strlen(dots); more > 0 || !utf8_begins(*text); text++)
		more -= utf8_begins(*text);
	snprintf(cell, COLUMNS_ROOM, "%s%s", dots, text);
}

const char *columns_title(const struct columns *c, unsigned column)
{
	const unsigned of = c->column[column].of;

	return of == P_VARIANT	 ? "variant"
	       : of == P_THREADS ? "threads"
				 : c->plan->benchmark->parameters[of].name;
}

char *columns_cell(const struct columns *c, unsigned column, const struct trial *t,
		   char text[COLUMNS_ROOM])
{
	const struct benchmark *b = c->plan->benchmark;
	const unsigned of = c->column[column].of;
	char value[VALUE_ROOM];

	if (of == P_VARIANT)
		shorten(t->variant->name, text);
	else if (of == P_THREADS)
		snprintf(text, COLUMNS_ROOM, "%u", t->threads);
	else if (parameter_applies(b, t->variant, of))
		shorten(value_show(&b->parameters[of], t->value[of], value, sizeof(value)), text);
	else
		*text = 0;
	return text;
}

static void add(struct columns *c, unsigned of)
{
	char text[COLUMNS_ROOM];
	const unsigned i = c->n++;

	c->column[i].of = of;
	c->column[i].width = utf8_width(columns_title(c, i));
	for (unsigned j = 0; j < c->plan->trials; j++) {
		const int width = utf8_width(columns_cell(c, i, &c->plan->trial[j].trial, text));

		c->column[i].width = width > c->column[i].width ? width : c->column[i].width;
	}
}

void columns_find(struct columns *c, const struct plan *plan)
{
	const struct varying varies = varying_find(plan);

	*c = (struct columns){ .plan = plan };
	if (varies.variant)
		add(c, P_VARIANT);
	for (unsigned i = 0; i < plan->benchmark->n_parameters; i++)
		if (varies.parameter[i])
			add(c, i);
	if (varies.threads)
		add(c, P_THREADS);
	if (!c->n) /* a row needs a name */
		add(c, P_VARIANT);
}

static bool is_column(const struct columns *c, unsigned of)
{
	for (unsigned i = 0; i < c->n; i++)
		if (c->column[i].of == of)
			return true;
	return false;
}

/* A trial that has the parameter; NULL: none has. */
static const struct trial *having(const struct plan *plan, unsigned parameter)
{
	for (unsigned i = 0; i < plan->trials; i++)
		if (parameter_applies(plan->benchmark, plan->trial[i].trial.variant, parameter))
			return &plan->trial[i].trial;
	return NULL;
}

char *columns_shared(const struct columns *c)
{
	const struct benchmark *b = c->plan->benchmark;
	const struct trial *t = &c->plan->trial[0].trial;
	char *shared = NULL, text[VALUE_ROOM];
	size_t size;
	FILE *f = open_memstream(&shared, &size);

	if (!f)
		return NULL;
	if (!is_column(c, P_VARIANT))
		fprintf(f, "variant %s, ", t->variant->name);
	for (unsigned i = 0; i < b->n_parameters; i++) {
		const struct parameter *p = &b->parameters[i];
		const struct trial *with = is_column(c, i) || p->output ? NULL : having(c->plan, i);

		if (with)
			fprintf(f, "%s %s, ", p->name,
				value_show(p, with->value[i], text, sizeof(text)));
	}
	if (!is_column(c, P_THREADS))
		fprintf(f, "%s", text_count(t->threads, "thread").of);
	fclose(f);
	size = shared ? strlen(shared) : 0;
	if (size > 2 && shared[size - 2] == ',')
		shared[size - 2] = 0;
	return shared;
}
