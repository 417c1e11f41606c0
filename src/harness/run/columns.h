/* SPDX-License-Identifier: Apache-2.0 */
/* What tells the trials of a table apart: a column each. What all of them share is its heading. */
#ifndef LOCUS_COLUMNS_H
#define LOCUS_COLUMNS_H

#include "harness/ask/parameters.h"
#include "harness/plan/plan.h"

/* The beginning of a longer cell is cut off: the end of a path tells most. */
enum { COLUMNS_WIDEST = 36, COLUMNS_ROOM = 4 * COLUMNS_WIDEST + 8 };

struct columns {
	const struct plan *plan;
	unsigned n;
	struct column {
		unsigned of; /* a parameter, P_VARIANT or P_THREADS */
		int width;   /* of its cells and its title */
	} column[MOST_PARAMETERS + 2];
};

void columns_find(struct columns *, const struct plan *);
const char *columns_title(const struct columns *, unsigned column);
/* Returns the text; "" if the trial has no such parameter. */
char *columns_cell(const struct columns *, unsigned column, const struct trial *,
		   char text[COLUMNS_ROOM]);
/* "size 4 KiB, pages base, 1 thread", to be freed; NULL: no memory. */
char *columns_shared(const struct columns *);

#endif
