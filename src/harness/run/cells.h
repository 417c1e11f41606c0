/* SPDX-License-Identifier: Apache-2.0 */
/* The cells of a row, on a terminal or in Markdown. */
#ifndef LOCUS_CELLS_H
#define LOCUS_CELLS_H

#include <stdbool.h>
#include <stdio.h>

struct cells {
	FILE *to;
	bool markdown, coloured;
};

/* One after the other, each in so many columns. */
void cells_left(const struct cells *, const char *text, int width);
void cells_right(const struct cells *, const char *text, int width);
/* Ends the row; in this colour of ECMA-48, where the terminal may have it. NULL: none. */
void cells_last(const struct cells *, const char *text, const char *colour);
/* Markdown's rule below the head: of so many cells to the left, then to the right. */
void cells_rule(const struct cells *, unsigned left, unsigned right);

#endif
