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

/* Print a cell, aligned to the left or right within so many columns. */
void cells_left(const struct cells *, const char *text, int width);
void cells_right(const struct cells *, const char *text, int width);
/* Prints the last cell of a row, coloured if that is allowed (ECMA-48). NULL: no colour. */
void cells_last(const struct cells *, const char *text, const char *colour);
/* Markdown's rule below the head: for so many cells aligned left, so many right, and the last. */
void cells_rule(const struct cells *, unsigned left, unsigned right);

#endif
