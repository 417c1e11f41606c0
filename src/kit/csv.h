/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text files of numbers with a decimal point, in any locale, between commas, semicolons, tabs or
 * blanks; perhaps with a line of names. Empty lines and those that begin with # count for nothing.
 */
#ifndef LOCUS_CSV_H
#define LOCUS_CSV_H

#include <locale.h>

#include "kit/input.h"
#include "kit/real.h"

/* What is known of a file: about 16 B for 1024 rows. */
struct csv {
	size_t rows;
	unsigned columns;
	char separator;
	struct csv_mark *mark; /* of every 1024th row */
	locale_t c;	       /* where the decimal point is one */
};

/*
 * Looks through the whole file for where its rows are. -1, and why, where it is no text or has no
 * numbers; csv_close() also then.
 */
int csv_open(struct csv *, const struct input *, struct refusal);
void csv_close(struct csv *);

/*
 * Rows first..first+n-1, which it has, as the type wanted. Threads may read at once. -1, and why,
 * where a value is no finite number of that type, or a row has too few or too many.
 */
int csv_read(const struct csv *, const struct input *, size_t first, size_t n, enum real as,
	     void *to, struct refusal);

#endif
