/* SPDX-License-Identifier: Apache-2.0 */
/* The ratios of a benchmark's trials, a row each, after its table. */
#ifndef LOCUS_RATIO_ROWS_H
#define LOCUS_RATIO_ROWS_H

#include <jansson.h>

#include "harness/run/cells.h"
#include "harness/run/columns.h"

struct ratio_rows {
	json_t *rows; /* lists of texts, a cell each; then the ids of both trials */
	json_t *status; /* of each trial that was added, by its id */
};

/* Adds a row for each ratio in the trial's line of the record. */
void ratio_rows_add(struct ratio_rows *, const struct columns *, const struct trial *,
		    const json_t *line);
/* Prints nothing if there are none. */
void ratio_rows_print(const struct ratio_rows *, const struct cells *);
void ratio_rows_free(struct ratio_rows *);

#endif
