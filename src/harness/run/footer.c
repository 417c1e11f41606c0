/* SPDX-License-Identifier: Apache-2.0 */
/* The foot of a table: ratios, then remarks on the trials. */
#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "base/message.h"
#include "harness/judge/verdict.h"
#include "harness/record/record.h"
#include "harness/run/table.h"

/* --- ratios --- */

enum { COMPARED, TRIAL, VALUE, INTERVAL, STATUS, CELLS = STATUS, ONE = STATUS, OTHER };
static const char *const titles[] = { [COMPARED] = "ratio",
				      [TRIAL] = "trial",
				      [VALUE] = "value",
				      [INTERVAL] = "± 95 %",
				      [STATUS] = "status" };

/* A trial's cells in one text, without the compared parameter. To be freed; NULL: no memory. */
static char *names_but(const struct columns *c, const struct trial *t, const char *parameter)
{
	char *text = NULL, cell[COLUMNS_ROOM];
	const char *blanks = "";
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	for (unsigned i = 0; i < c->n; i++) {
		if (!strcmp(columns_title(c, i), parameter))
			continue;
		columns_cell(c, i, t, cell);
		fprintf(f, "%s%s%*s", blanks, cell, c->column[i].width - utf8_width(cell), "");
		blanks = "  ";
	}
	fclose(f);
	return text;
}

static json_t *compared(const json_t *ratio)
{
	const char *metric = json_string_value(json_object_get(ratio, "metric"));

	return json_sprintf("%s %s/%s%s%s", json_string_value(json_object_get(ratio, "name")),
			    json_string_value(json_object_get(ratio, "of")),
			    json_string_value(json_object_get(ratio, "to")),
			    strcmp(metric, "time") ? ", " : "",
			    strcmp(metric, "time") ? metric : "");
}

void ratio_rows_add(struct ratio_rows *r, const struct columns *c, const struct trial *t,
		    const json_t *line)
{
	const json_t *ratio, *id = json_object_get(line, "id");
	char value[TABLE_CELL], interval[TABLE_CELL];
	size_t i;

	if (!r->rows) {
		r->rows = json_array();
		r->status = json_object();
	}
	json_object_set(r->status, json_string_value(id), json_object_get(line, "status"));
	json_array_foreach(json_object_get(line, "ratios"), i, ratio) {
		char *names =
			names_but(c, t, json_string_value(json_object_get(ratio, "parameter")));

		json_array_append_new(r->rows,
				      json_pack("[o, s, s, s, O, O]", compared(ratio),
						names ? names : "", display_value(ratio, value),
						display_interval(ratio, interval), id,
						json_object_get(ratio, "trial")));
		free(names);
	}
}

static const char *cell_of(const json_t *row, unsigned column)
{
	return json_string_value(json_array_get(row, column));
}

/* The graver status of both trials, if they have been added. */
static const char *status_of(const struct ratio_rows *r, const json_t *row)
{
	enum status gravest = STATUS_OK;

	for (unsigned i = ONE; i <= OTHER; i++) {
		const json_t *name = json_object_get(r->status, cell_of(row, i));
		const enum status own = name ? status_named(json_string_value(name)) : STATUS_OK;

		gravest = own > gravest ? own : gravest;
	}
	return status_names[gravest];
}

static int widest(const json_t *rows, unsigned column)
{
	int width = utf8_width(titles[column]);
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row) {
		const int own = utf8_width(cell_of(row, column));

		width = own > width ? own : width;
	}
	return width;
}

static void print_row(const struct printer *c, const char *const text[CELLS + 1],
		      const int width[CELLS], bool named)
{
	printer_left(c, text[COMPARED], width[COMPARED]);
	if (named)
		printer_left(c, text[TRIAL], width[TRIAL]);
	printer_right(c, text[VALUE], width[VALUE]);
	printer_right(c, text[INTERVAL], width[INTERVAL]);
	printer_last(c, text[STATUS], NULL);
}

void ratio_rows_print(const struct ratio_rows *r, const struct printer *c)
{
	const char *text[CELLS + 1];
	const json_t *row;
	int width[CELLS];
	bool named = false;
	size_t i;

	if (!json_array_size(r->rows))
		return;
	for (unsigned j = 0; j < CELLS; j++)
		width[j] = widest(r->rows, j);
	json_array_foreach(r->rows, i, row)
		named |= *cell_of(row, TRIAL) != 0;
	fputc('\n', c->to);
	print_row(c, titles, width, named);
	printer_rule(c, 1U + named, 2);
	json_array_foreach(r->rows, i, row) {
		for (unsigned j = 0; j < CELLS; j++)
			text[j] = cell_of(row, j);
		text[STATUS] = status_of(r, row);
		print_row(c, text, width, named);
	}
}

void ratio_rows_free(struct ratio_rows *r)
{
	json_decref(r->rows);
	json_decref(r->status);
	*r = (struct ratio_rows){ 0 };
}

/* --- remarks --- */

/* Stands for a number in a pattern. */
#define NUMBER '\001'

enum { MOST_NUMBERS = 12, NUMBER_ROOM = 24 };

struct remark {
	unsigned rank, trials, numbers;
	const char *label;
	char *pattern;
	/* the smallest and the largest value of each number, as they were written */
	char least[MOST_NUMBERS][NUMBER_ROOM], most[MOST_NUMBERS][NUMBER_ROOM];
};

/*
 * The length of the number, with its sign, that begins at `at`; 0: none does, or it is part of a
 * word.
 */
static size_t number_length(const char *sentence, const char *at)
{
	const char *before = at > sentence ? at - 1 : " ",
		   *digits = at + (*before == ' ' && strchr("+-", *at));
	char *end;

	if (!isdigit((unsigned char)*digits) || isalnum((unsigned char)*before) ||
	    strchr("._-/\\=", *before) || (at[0] == '0' && isalpha((unsigned char)at[1])))
		return 0;
	strtod(at, &end);
	if (isalnum((unsigned char)*end) || *end == '_' || *end == '/' || end - at >= NUMBER_ROOM)
		return 0;
	return (size_t)(end - at);
}

/* The sentence without its numbers, which go into least and most. False: no memory. */
static bool read_pattern(struct remark *r, const char *sentence)
{
	char *to = r->pattern = malloc(strlen(sentence) + 1);

	if (!to)
		return false;
	for (const char *at = sentence; *at; to++) {
		const size_t n = r->numbers < MOST_NUMBERS ? number_length(sentence, at) : 0;

		*to = *at;
		if (n || *at == NUMBER)
			*to = n ? NUMBER : '?';
		if (n) {
			memcpy(r->least[r->numbers], at, n);
			memcpy(r->most[r->numbers++], at, n);
		}
		at += n ? n : 1;
	}
	*to = 0;
	return true;
}

static void widen(struct remark *r, const struct remark *other)
{
	for (unsigned i = 0; i < r->numbers; i++) {
		const double number = strtod(other->least[i], NULL);

		if (number < strtod(r->least[i], NULL))
			memcpy(r->least[i], other->least[i], NUMBER_ROOM);
		if (number > strtod(r->most[i], NULL))
			memcpy(r->most[i], other->most[i], NUMBER_ROOM);
	}
	r->trials++;
}

void remarks_add(struct remarks *list, unsigned rank, const char *label, const char *sentence)
{
	struct remark new = { .rank = rank, .trials = 1, .label = label }, *grown;
	unsigned i = 0;

	if (!read_pattern(&new, sentence))
		return;
	for (i = 0; i < list->n &&
		    (list->remark[i].rank != rank || strcmp(list->remark[i].pattern, new.pattern));
	     i++)
		;
	if (i < list->n) {
		widen(&list->remark[i], &new);
		free(new.pattern);
		return;
	}
	grown = realloc(list->remark, (list->n + 1) * sizeof(*grown));
	if (!grown) {
		free(new.pattern);
		return;
	}
	list->remark = grown;
	for (i = list->n++; i && grown[i - 1].rank > rank; i--)
		grown[i] = grown[i - 1];
	grown[i] = new;
}

/*
 * Prints the values of a number, "2 to 5"; of both ends of a range, "2 to 5", the lowest and the
 * highest; "from 2 to 5" is a change, and no range. Returns how many characters of the pattern that
 * took.
 */
static size_t print_number(const struct remark *r, unsigned number, const char *at, FILE *to)
{
	static const char range[] = { NUMBER, ' ', 't', 'o', ' ', NUMBER, 0 };
	static const char change[] = "from ";
	const bool changes = at - r->pattern >= (ptrdiff_t)strlen(change) &&
			     !strncmp(at - strlen(change), change, strlen(change)),
		   ends = !changes && !strncmp(at, range, strlen(range));
	const char *most = r->most[number + ends];

	fprintf(to, "%s", r->least[number]);
	if (ends || strcmp(r->least[number], most))
		fprintf(to, " to %s", most);
	return ends ? strlen(range) : 1;
}

static void print_remark(const struct remark *r, const char *mark, FILE *f)
{
	char *text = NULL;
	size_t size, taken;
	FILE *to = open_memstream(&text, &size);
	unsigned number = 0;

	if (!to)
		return;
	fprintf(to, "%s%u %s%s: ", mark, r->trials, r->label,
		!strcmp(r->label, "trial") && r->trials > 1 ? "s" : "");
	for (const char *c = r->pattern; *c; c += taken) {
		taken = *c == NUMBER ? print_number(r, number, c, to) : 1;
		if (*c != NUMBER)
			fputc(*c, to);
		else
			number += taken > 1 ? 2 : 1;
	}
	fclose(to);
	if (text)
		message_print(text, 2, f);
	free(text);
}

void remarks_print(const struct remarks *list, const char *mark, FILE *f)
{
	for (unsigned i = 0; i < list->n; i++)
		print_remark(&list->remark[i], mark, f);
}

void remarks_free(struct remarks *list)
{
	for (unsigned i = 0; i < list->n; i++)
		free(list->remark[i].pattern);
	free(list->remark);
	*list = (struct remarks){ 0 };
}
