/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run's table: a row for each trial, made from its line of the record; after the rows of a
 * benchmark its ratios, and the remarks on its trials.
 */
#ifndef LOCUS_TABLE_H
#define LOCUS_TABLE_H

#include <jansson.h>

#include "harness/ask/options.h"
#include "harness/ask/parameters.h"
#include "harness/judge/verdict.h"
#include "harness/plan/plan.h"

/* --- columns.c: the cells of a row, and which columns there are --- */

/* Prints cells on a terminal, or in Markdown. */
struct printer {
	FILE *to;
	bool markdown, coloured;
};

/* Print a cell, aligned to the left or right within so many columns. */
void printer_left(const struct printer *, const char *text, int width);
void printer_right(const struct printer *, const char *text, int width);
/* Prints the last cell of a row, coloured if that is allowed (ECMA-48). NULL: no colour. */
void printer_last(const struct printer *, const char *text, const char *colour);
/* Markdown's rule below the head: for so many cells aligned left, so many right, and the last. */
void printer_rule(const struct printer *, unsigned left, unsigned right);

/* The beginning of a longer cell is cut off, since the end of a path says most. */
enum { COLUMNS_WIDEST = 36, COLUMNS_ROOM = 4 * COLUMNS_WIDEST + 8 };

/* The differences between a table's trials, a column each. Common settings are its heading. */
struct columns {
	const struct plan *plan;
	unsigned n;
	struct column {
		unsigned of; /* a parameter, P_VARIANT or P_THREADS */
		int width;   /* width of its cells and its title */
	} column[MOST_PARAMETERS + 2];
};

void columns_find(struct columns *, const struct plan *);
const char *columns_title(const struct columns *, unsigned column);
/* Returns the text; "" if the trial has no such parameter. */
char *columns_cell(const struct columns *, unsigned column, const struct trial *,
		   char text[COLUMNS_ROOM]);
/* "size 4 KiB, pages base, 1 thread", to be freed; NULL: no memory. */
char *columns_shared(const struct columns *);

/* --- display.c: numbers of a trial line of the record, as people read them --- */

enum { TABLE_CELL = 64, DISPLAY_MODES = 2 };

/* A metric's or a ratio's value, and its interval or else a range; NaN: it has none. */
struct display_number {
	double value, low, high;
	bool few; /* a range, of too few allocations */
};
struct display_number display_number(const json_t *metric);
/* The wider half of the interval; NaN: there is none. */
double display_doubt(struct display_number);

/*
 * A metric, a counter or a ratio: "1.921 ns/load", with the digits that its interval supports; "-":
 * it has no value. Returns text.
 */
char *display_value(const json_t *metric, char text[TABLE_CELL]);
/*
 * The wider half of the interval, relative to the value: "±0.4 %". Beyond ±50 %, its ends in the
 * value's unit: "0.8 to 24". With too few allocations for an interval, their range in brackets.
 * "-": neither.
 */
char *display_interval(const json_t *metric, char text[TABLE_CELL]);
/* "5.1"; "-": unknown. */
char *display_cycles(double cycles, char text[TABLE_CELL]);

/*
 * The modes of a trial's headline, each as a table's row shows it instead of a value: "1.690
 * ns/load", "in 62 %", and its cycles. Returns DISPLAY_MODES; 0: there is a single value, or it
 * does not follow from the time.
 */
struct display_mode {
	char value[TABLE_CELL], share[TABLE_CELL], cycles[TABLE_CELL];
};
unsigned display_modes(const json_t *trial, struct display_mode mode[DISPLAY_MODES]);

/* Prints, beneath the row of a trial, the events of --counters and the pairs of workers. */
void display_details(const json_t *trial, FILE *);

/* --- shades.c: times between CPUs --- */

/*
 * Prints `pairs.cells` of a trial as a matrix, each median as a shade, with a scale below; with too
 * many CPUs for so many columns, a cell is the mean of several. Blocks where the locale is UTF-8,
 * else plain characters. Prints nothing of fewer than 3 CPUs.
 */
void shades_print(const json_t *cells, int columns, FILE *);

/* --- flat.c: rows for programs: CSV, with a row for each ratio, too; or a list in JSON --- */

/* Print a trial line of the record, in base units; `first`: no trial was printed before. */
void flat_csv(const json_t *trial, bool first, FILE *);
void flat_json(const json_t *trial, bool first, FILE *);
/* To be called after the last trial; `none`: there was no trial. */
void flat_json_end(bool none, FILE *);

/* --- footer.c: what follows the rows of a benchmark --- */

/* The ratios of its trials, a row each. */
struct ratio_rows {
	json_t *rows;	/* lists of texts, one for each cell; then the ids of both trials */
	json_t *status; /* status of each added trial, by its id */
};

/* Adds a row for each ratio in the trial's line of the record. */
void ratio_rows_add(struct ratio_rows *, const struct columns *, const struct trial *,
		    const json_t *line);
/* Prints nothing if there are none. */
void ratio_rows_print(const struct ratio_rows *, const struct printer *);
void ratio_rows_free(struct ratio_rows *);

/*
 * Remarks on trials. Those that differ only in their numbers are printed once, with the number of
 * trials, and the range of each number.
 */
struct remarks {
	struct remark *remark;
	unsigned n;
};

/* Remarks of lower rank are printed first. Without memory, a remark is left out. */
void remarks_add(struct remarks *, unsigned rank, const char *label, const char *sentence);
/* "31 noisy: 12 to 94 % of samples disturbed", each after the mark, in lines of 100 columns. */
void remarks_print(const struct remarks *, const char *mark, FILE *);
void remarks_free(struct remarks *);

/* --- table.c --- */

struct table {
	struct printer printer; /* its `to` is NULL: nothing is printed */
	FILE *errors;
	enum format format;
	bool brief; /* one line for each benchmark instead of a table */
	bool any;   /* something was printed before */
	/* of the current benchmark */
	const struct plan *plan;
	struct columns columns;
	struct remarks remarks;
	struct ratio_rows ratios;
	unsigned count[STATUSES]; /* trials */
	double began;		  /* clock_now() */
	bool titled;
	bool silent; /* no rows: no table, or all trials are impossible */
};

/*
 * `to` gets the table. If it is NULL, `errors` gets the reasons of trials that make the run fail.
 * Both NULL: nothing is printed.
 */
void table_open(struct table *, FILE *to, FILE *errors, enum format);
/* If every trial is impossible, says so once, on stderr; formats for people then have no rows. */
void table_begin(struct table *, const struct plan *);
/* Prints the row of a trial, from its line of the record. */
void table_row(struct table *, const struct planned *, const json_t *trial);
/* To be called after the last row of a benchmark; does nothing if none was begun. */
void table_end(struct table *);
/* To be called after the last table. */
void table_close(struct table *);
/* Whether the format is for people, so that sentences may come before or after the table. */
bool table_is_read(const struct table *);

#endif
