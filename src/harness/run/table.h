/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What people see of a run: a row for each trial, made from its line of the record; behind the rows
 * of a benchmark its ratios, and what is to be said of its trials, once.
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
	bool silent; /* all is impossible, and that was said */
};

/*
 * `to` NULL: no table; `errors`, then: where reasons of trials go that make the run fail. NULL:
 * nowhere.
 */
void table_open(struct table *, FILE *to, FILE *errors, enum format);
/* Where every trial is impossible, this is said once, on stderr; for people no row is printed. */
void table_begin(struct table *, const struct plan *);
/* A trial line of the record. */
void table_row(struct table *, const struct planned *, const json_t *trial);
/* Behind the last row of a benchmark, if one was begun. */
void table_end(struct table *);
/* Behind the last table. */
void table_close(struct table *);
/* Whether people read it: a sentence may stand before or behind it. */
bool table_is_read(const struct table *);

#endif
