/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text files of numbers with a decimal point (whatever the locale), also in quotes, separated by
 * commas, semicolons, tabs or blanks; the first line may hold names. Empty lines and lines that
 * begin with # are skipped.
 */
#ifndef LOCUS_CSV_H
#define LOCUS_CSV_H

#include <locale.h>

#include "kit/input.h"
#include "kit/real.h"

/* An index of the file: 16 B for 1024 rows. */
struct csv {
	size_t rows;
	unsigned columns;
	char separator;
	struct csv_mark *mark; /* of every 1024th row */
	locale_t c;	       /* "C", with the decimal point */
	char guess[192];       /* "line 1 taken for names: x, y"; "": nothing is */
};

/*
 * Reads the whole file once to index its rows. -1, and why, if it is no text or has no numbers. To
 * be closed in any case.
 */
int csv_open(struct csv *, const struct input *, const char **why);
void csv_close(struct csv *);

/*
 * Reads rows first..first+n-1, which must exist, as type `as`. Threads may read at once. -1, and
 * why, where a value is no finite number of that type, or a row has too few or too many.
 */
int csv_read(const struct csv *, const struct input *, size_t first, size_t n, enum real as,
	     void *to, const char **why);

#endif
