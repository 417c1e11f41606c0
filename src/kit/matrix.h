/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of numbers in rows and columns: NPY (kit/npy.h) or CSV (kit/csv.h). Each reader - thread
 * or rank - asks for its own rows; values are not kept in memory. Opening a CSV file reads it once,
 * so large files had better be NPY.
 *
 * An error is one line (base/why.h): the file, where in it, what was found, what was expected.
 */
#ifndef LOCUS_MATRIX_H
#define LOCUS_MATRIX_H

#include <stddef.h>

#include "kit/real.h"

struct matrix;

/*
 * NULL, and why, if it cannot be read or has no numbers. "-" is standard input, a file or a pipe
 * (kit/input.h).
 */
struct matrix *matrix_open(const char *path, const char **why);
size_t matrix_rows(const struct matrix *);
unsigned matrix_columns(const struct matrix *);
/*
 * Reads rows first..first+n-1, which must exist, as type `as`. Threads may read at once. -1, and
 * why, if a value is not a finite number or a row has too few or too many.
 */
int matrix_read(const struct matrix *, size_t first, size_t n, enum real as, void *to,
		const char **why);
void matrix_close(struct matrix *);

/*
 * How a file is read, if that is a guess, to be freed: "FILE: line 1 taken for names: x, y". NULL:
 * no guess, or it cannot be read.
 */
char *matrix_guess(const char *path);

#endif
