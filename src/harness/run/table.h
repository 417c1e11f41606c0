/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What people see of a run: a row on stdout for each trial, made from its line of the record.
 */
#ifndef LOCUS_TABLE_H
#define LOCUS_TABLE_H

#include <jansson.h>

#include "harness/plan/plan.h"

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

#endif
