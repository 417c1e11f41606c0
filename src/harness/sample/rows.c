/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/statistics.h"
#include "base/utf8.h"
#include "harness/record/record.h"
#include "harness/sample/reductions.h"
#include "machine/watchdog.h"

/* Samples with one other rank: the last ones of each metric. */
struct met {
	unsigned with;
	unsigned samples[ROWS_METRICS];
	float value[ROWS_METRICS][ROWS_KEPT];
};

/* The beginning of a row as it is sent to rank 0. */
struct row_head {
	unsigned node, n; /* n cells follow */
	char host[UTF8_HOST];
};
struct row_cell {
	unsigned with;
	float value[ROWS_METRICS]; /* NAN: none */
};
struct row {
	struct row_head head;
	struct row_cell *cell;
};

struct rows {
	const struct benchmark *benchmark;
	unsigned ranks, columns, metric[ROWS_METRICS]; /* metrics with rows */
	unsigned *place;			       /* by rank: 1 + its index in met; 0: none */
	struct met *met;
	unsigned n, room;
	struct row *row; /* on rank 0: by rank, once they are gathered */
};

struct rows *rows_open(const struct trial *t)
{
	struct rows *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->benchmark = t->benchmark;
	r->ranks = ranks_of(t->ranks);
	for (unsigned i = 0; i < t->benchmark->n_metrics && r->columns < ROWS_METRICS; i++)
		if (t->benchmark->metrics[i].kind == M_ROW)
			r->metric[r->columns++] = i;
	r->place = calloc(r->ranks, sizeof(*r->place));
	if (r->place)
		return r;
	rows_close(r);
	return NULL;
}

void rows_close(struct rows *r)
{
	if (!r)
		return;
	for (unsigned i = 0; r->row && i < r->ranks; i++)
		free(r->row[i].cell);
	free(r->row);
	free(r->met);
	free(r->place);
	free(r);
}

/* --- this rank's rows --- */

static struct met *met_with(struct rows *r, unsigned with)
{
	if (r->place[with])
		return &r->met[r->place[with] - 1];
	if (r->n == r->room) {
		const unsigned room = 2 * r->room + 16;
		struct met *grown = realloc(r->met, room * sizeof(*grown));

		if (!grown)
			return NULL;
		r->met = grown;
		r->room = room;
	}
	r->met[r->n] = (struct met){ .with = with };
	r->place[with] = ++r->n;
	return &r->met[r->n - 1];
}

void rows_add(struct rows *r, unsigned metric, unsigned with, double value)
{
	unsigned column = 0;
	struct met *m;

	while (column < r->columns && r->metric[column] != metric)
		column++;
	m = column < r->columns && with < r->ranks ? met_with(r, with) : NULL;
	if (m)
		m->value[column][m->samples[column]++ % ROWS_KEPT] = (float)value;
}

/* A cell for the rank that was met: the median of its samples for each column. */
static struct row_cell cell_of(const struct met *m, unsigned columns)
{
	struct row_cell cell = { .with = m->with };

	for (unsigned i = 0; i < ROWS_METRICS; i++) {
		double x[ROWS_KEPT];
		size_t n = 0;

		while (i < columns && n < m->samples[i] && n < ROWS_KEPT) {
			x[n] = (double)m->value[i][n];
			n++;
		}
		cell.value[i] = n ? (float)statistics_quantile_known(x, n, 0.5) : NAN;
	}
	return cell;
}

static bool is_worse(const struct rows *r, unsigned column, float one, float other)
{
	const bool more = r->benchmark->metrics[r->metric[column]].better == HIGHER_IS_BETTER;

	return isfinite(one) && (!isfinite(other) || (more ? one < other : one > other));
}

/* Moves the worst cell by a metric, of cells `from` on, to `to`. */
static void put_worst(const struct rows *r, struct row_cell *cell, unsigned from, unsigned n,
		      unsigned column)
{
	unsigned worst = from;

	for (unsigned i = from + 1; i < n; i++)
		if (is_worse(r, column, cell[i].value[column], cell[worst].value[column]))
			worst = i;
	if (from < n) {
		const struct row_cell moved = cell[from];

		cell[from] = cell[worst];
		cell[worst] = moved;
	}
}

/* Puts the cells to be sent first; returns their number. */
static unsigned choose(const struct rows *r, struct row_cell *cell, unsigned n)
{
	unsigned chosen = ROWS_FIRST;

	if (n <= ROWS_SENT)
		return n;
	for (unsigned column = 0; column < r->columns; column++)
		for (unsigned i = 0; i < ROWS_WORST; i++)
			put_worst(r, cell, chosen++, n, column);
	return chosen;
}

/* --- all ranks' rows, on rank 0 --- */

static struct row own_row(const struct rows *r, const struct ranks *ranks)
{
	struct row row = { .head.node = ranks_lowest_here(ranks),
			   .cell = calloc(r->n + 1, sizeof(*row.cell)) };

	utf8_host(row.head.host);
	for (unsigned i = 0; row.cell && i < r->n; i++)
		row.cell[i] = cell_of(&r->met[i], r->columns);
	row.head.n = row.cell ? choose(r, row.cell, r->n) : 0;
	return row;
}

/* Each rank sends only when asked: otherwise rank 0 would have to hold all rows at once. */
static void send_row(const struct ranks *ranks, const struct row *row)
{
	char asked;

	ranks->receive(0, &asked, 1);
	ranks->send(0, &row->head, sizeof(row->head));
	ranks->send(0, row->cell, row->head.n * sizeof(*row->cell));
}

static struct row receive_row(const struct ranks *ranks, unsigned from)
{
	struct row row;

	ranks->send(from, "", 1);
	ranks->receive(from, &row.head, sizeof(row.head));
	row.cell = calloc(row.head.n + 1, sizeof(*row.cell));
	if (!row.cell)
		abort(); /* MPI then ends the other ranks */
	ranks->receive(from, row.cell, row.head.n * sizeof(*row.cell));
	return row;
}

void rows_gather(struct rows *r, const struct ranks *ranks)
{
	struct row own;

	watchdog_away("gathering the rows of");
	own = own_row(r, ranks);
	if (ranks->rank) {
		send_row(ranks, &own);
		free(own.cell);
	} else {
		r->row = calloc(r->ranks, sizeof(*r->row));
		if (!r->row)
			abort(); /* MPI then ends the other ranks */
		r->row[0] = own;
		for (unsigned from = 1; from < r->ranks; from++)
			r->row[from] = receive_row(ranks, from);
	}
	watchdog_back();
}

/* --- in the record --- */

static json_t *column_json(const struct row *row, unsigned column)
{
	json_t *list = json_array();
	bool any = false;

	for (unsigned i = 0; i < row->head.n; i++) {
		any |= isfinite(row->cell[i].value[column]);
		json_array_append_new(list, record_number((double)row->cell[i].value[column]));
	}
	if (any)
		return list;
	json_decref(list);
	return NULL;
}

static json_t *row_json(const struct rows *r, unsigned rank)
{
	const struct row *row = &r->row[rank];
	json_t *with = json_array(), *object;

	for (unsigned i = 0; i < row->head.n; i++)
		json_array_append_new(with, json_integer((json_int_t)row->cell[i].with));
	object = json_pack("{s:i, s:o, s:i, s:o}", "rank", (int)rank, "host",
			   json_string(row->head.host), "node", (int)row->head.node, "with", with);
	for (unsigned i = 0; i < r->columns; i++) {
		json_t *column = column_json(row, i);

		if (column)
			json_object_set_new(object, r->benchmark->metrics[r->metric[i]].name,
					    column);
	}
	return object;
}

json_t *rows_json(const struct rows *r)
{
	json_t *list = json_array();

	for (unsigned rank = 0; r->row && rank < r->ranks; rank++)
		json_array_append_new(list, row_json(r, rank));
	return list;
}
