/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run prints: a row for each trial, made from its line of the record; after the rows of a
 * benchmark its ratios, and the remarks on its trials.
 */
#ifndef LOCUS_TABLE_H
#define LOCUS_TABLE_H

#include <jansson.h>

#include "harness/ask/options.h"
#include "harness/plan/plan.h"
#include "harness/run/cells.h"
#include "harness/run/columns.h"
#include "harness/run/ratio_rows.h"
#include "harness/run/remarks.h"

struct table {
	struct cells cells; /* to NULL: nothing is printed */
	FILE *errors;
	enum format format;
	bool any; /* something was printed before */
	/* of the benchmark at hand */
	const struct plan *plan;
	struct columns columns;
	struct remarks remarks;
	struct ratio_rows ratios;
	bool titled;
	bool silent; /* no rows: there is no table, or all trials are impossible, which was said */
};

/*
 * `to`: where the table goes; NULL: there is none, and the reasons of trials that make the run fail
 * go to `errors`; NULL: nowhere.
 */
void table_open(struct table *, FILE *to, FILE *errors, enum format);
/* If every trial is impossible, says so once, on stderr; formats for people then have no rows. */
void table_begin(struct table *, const struct plan *);
/* Prints the row of a trial, from its line of the record. */
void table_row(struct table *, const struct planned *, const json_t *trial);
/* After the last row of a benchmark; does nothing if none was begun. */
void table_end(struct table *);
/* After the last table. */
void table_close(struct table *);
/* Whether the format is for people, so that sentences may come before or after the table. */
bool table_is_read(const struct table *);

#endif
