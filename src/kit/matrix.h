/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of numbers in rows and columns: NPY (kit/npy.h) or CSV (kit/csv.h). Each reader, be it a
 * thread or a rank, asks for its own rows. A CSV file is looked through once, when it is opened, so
 * large files had better be NPY; values are not kept in memory.
 *
 * What goes wrong with a file is said in one line that names it, where in it, what was found, and
 * what was expected.
 */
#ifndef LOCUS_MATRIX_H
#define LOCUS_MATRIX_H

#include <stddef.h>

#include "kit/real.h"

struct matrix;

/*
 * NULL, and why, where it cannot be read, or has no numbers. "-" is standard input, be it a file or
 * a pipe (kit/input.h).
 */
struct matrix *matrix_open(const char *path, char *why, size_t size);
size_t matrix_rows(const struct matrix *);
unsigned matrix_columns(const struct matrix *);
enum real matrix_real(const struct matrix *); /* what it holds; CSV: DOUBLE */
/*
 * Rows first..first+n-1, which it has, as the type wanted. Threads may read at once. -1, and why,
 * where a value is no finite number or a row has too few or too many.
 */
int matrix_read(const struct matrix *, size_t first, size_t n, enum real as, void *to, char *why,
		size_t size);
void matrix_close(struct matrix *);

#endif
