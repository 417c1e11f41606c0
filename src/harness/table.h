/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What people see while and after a run: the table on stdout, progress on stderr. Both only repeat
 * what goes into the record.
 */
#ifndef LOCUS_TABLE_H
#define LOCUS_TABLE_H

#include <jansson.h>

#include "harness/plan.h"

struct table {
	const struct plan *plan;
	int width; /* of the first column */
	bool titled;
	bool silent;	/* all is impossible, and that was said */
	char said[512]; /* why the last impossible trial is */
};

/* Where every trial is impossible, this is said once, on stderr, and no row is printed. */
void table_begin(struct table *, const struct plan *);
/*
 * A trial line of the record. What makes several trials impossible, one after the other, is said of
 * the first.
 */
void table_row(struct table *, const struct planned *, const json_t *trial);

struct progress {
	bool wanted, terminal, shown;
	double last; /* clock_now() of the last line */
};

void progress_begin(struct progress *, bool quiet);
/* On a terminal a line that is written over, at most ten times a second; elsewhere nothing. */
void progress_show(struct progress *, const char *what, unsigned done, unsigned all, double elapsed,
		   double budget);
/* Removes the line, so that something else can be printed. */
void progress_clear(struct progress *);

#endif
