/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text files of numbers with a decimal point (whatever the locale), also in quotes, separated by
 * commas, semicolons, tabs or blanks; the first line may hold names. Empty lines and lines that
 * begin with # are skipped.
 */
#ifndef LOCUS_CSV_H
#define LOCUS_CSV_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>

#include "kit/input.h"
#include "kit/real.h"

/* An index of the file: 16 B for 1024 rows. */
struct csv {
	size_t rows;
	unsigned columns;
	char separator;
	struct csv_mark *mark; /* of every 1024th row */
	locale_t c;	       /* "C", with the decimal point */
	char guess[192];       /* "line 1 taken for names: x, y"; "": no guess */
};

/*
 * Reads the whole file once to index its rows. -1, and why, if it is not text or has no numbers. To
 * be closed in any case.
 */
int csv_open(struct csv *, const struct input *, const char **why);
void csv_close(struct csv *);

/*
 * Reads rows first..first+n-1, which must exist, as type `as`. Threads may read at once. -1, and
 * why, if a value is not a finite number of that type, or a row has too few or too many.
 */
int csv_read(const struct csv *, const struct input *, size_t first, size_t n, enum real as,
	     void *to, const char **why);

/* Reading a text file by lines and fields (csv_reader.c). */

/* Where a line begins: its offset in the file, and its number, from 1. */
struct csv_mark {
	size_t offset, line;
};

struct csv_reader {
	const struct input *in;
	const char **why;
	char separator; /* ' ': blanks and tabs; or CSV_ANY */
	char *block;
	size_t at, end; /* in the block: the next character; its end */
	size_t offset;	/* offset of the block in the file */
	size_t line;
	bool failed; /* and said why */
};

/* Stands for the separator in a line with two of comma, semicolon and tab. */
#define CSV_ANY '?'

/* Prepares to read the file from its beginning. False, and why. The block is to be freed. */
bool csv_reader_open(struct csv_reader *, const struct input *, char separator, const char **why);
void csv_reader_go_to(struct csv_reader *, struct csv_mark);
void csv_reader_next_line(struct csv_reader *);

/*
 * From a line's beginning, goes to the first line with values: this or a later one. Others are
 * empty, or begin with # (but not as "#N/A", which Excel writes for a value).
 */
bool csv_reader_find_row(struct csv_reader *, struct csv_mark *begin);

/* The separator of the line's values: ' ' if there is no other. */
char csv_reader_separator(struct csv_reader *);

/* Refuses a first block that is not text; skips a byte order mark. -1, and why. */
int csv_reader_check(struct csv_reader *);

/*
 * A field without quotes and without blanks around it. Longer fields are cut, and then are not
 * numbers.
 */
struct csv_field {
	char text[512];
	size_t length;
	bool quoted;
};

/* Leaves the reader at the separator or line end; separators within quotes don't count. */
void csv_reader_take(struct csv_reader *, struct csv_field *);

/* Goes to the next field of the line, where there is one. */
bool csv_reader_more(struct csv_reader *);

/*
 * Whether it is a number: whatever strtod takes in this locale, except hexadecimal digits. NaN and
 * infinity count: as values they are refused later, and they are not names.
 */
bool csv_field_number(const struct csv_field *, locale_t, double *value);

/* False for a number written as an integer that a double cannot hold exactly. */
bool csv_field_is_exact(const struct csv_field *, double value);

/*
 * Whether it can name a column: it has a letter, does not begin like a number, and is not a word
 * for a value, such as NA. So a line with a missing or misspelt number is not taken for names.
 */
bool csv_field_names(const struct csv_field *);

#endif
