/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/judge/verdict.h"
#include "harness/record/json.h"
#include "harness/run/ratio_rows.h"
#include "harness/run/shown.h"
#include "base/utf8.h"

enum { COMPARED, TRIAL, VALUE, INTERVAL, STATUS, CELLS = STATUS, ONE = STATUS, OTHER };
static const char *const titles[] = { [COMPARED] = "ratio",
				      [TRIAL] = "trial",
				      [VALUE] = "value",
				      [INTERVAL] = "± 95 %",
				      [STATUS] = "status" };

/*
 * The cells of a trial in one text, without that of the parameter that is compared. To be freed;
 * NULL: no memory.
 */
static char *cells_but(const struct columns *c, const struct trial *t, const char *parameter)
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
	char interval[SHOWN_ROOM];
	size_t i;

	if (!r->rows) {
		r->rows = json_array();
		r->status = json_object();
	}
	json_object_set(r->status, json_string_value(id), json_object_get(line, "status"));
	json_array_foreach(json_object_get(line, "ratios"), i, ratio)
	{
		char *cells =
			cells_but(c, t, json_string_value(json_object_get(ratio, "parameter")));

		json_array_append_new(
			r->rows,
			json_pack(
				"[o, s, o, s, O, O]", compared(ratio), cells ? cells : "",
				json_sprintf("%.3g", record_real(json_object_get(ratio, "value"))),
				shown_interval(ratio, interval), id,
				json_object_get(ratio, "trial")));
		free(cells);
	}
}

static const char *cell_of(const json_t *row, unsigned column)
{
	return json_string_value(json_array_get(row, column));
}

/* The graver one of both trials, as far as they were added. */
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

	json_array_foreach(rows, i, row)
	{
		const int own = utf8_width(cell_of(row, column));

		width = own > width ? own : width;
	}
	return width;
}

static void print_row(const struct cells *c, const char *const text[CELLS + 1],
		      const int width[CELLS], bool named)
{
	cells_left(c, text[COMPARED], width[COMPARED]);
	if (named)
		cells_left(c, text[TRIAL], width[TRIAL]);
	cells_right(c, text[VALUE], width[VALUE]);
	cells_right(c, text[INTERVAL], width[INTERVAL]);
	cells_last(c, text[STATUS], NULL);
}

void ratio_rows_print(const struct ratio_rows *r, const struct cells *c)
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
	json_array_foreach(r->rows, i, row) named |= *cell_of(row, TRIAL) != 0;
	fputc('\n', c->to);
	print_row(c, titles, width, named);
	cells_rule(c, 1U + named, 2);
	json_array_foreach(r->rows, i, row)
	{
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
