/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NumPy's file format: a header of one line, then the values as in memory. Reads versions 1 to 3,
 * real numbers of at most 8 bytes in any byte order, C or Fortran order, one dimension (one column)
 * or two.
 */
#ifndef LOCUS_NPY_H
#define LOCUS_NPY_H

#include <stdbool.h>
#include <stddef.h>

#include "kit/input.h"
#include "kit/real.h"

/* The type of the values. */
struct npy_type {
	char kind; /* NumPy's letter: f, i, u, or b for a truth value */
	unsigned bytes;
	bool swapped; /* big endian */
};

/* The contents of a header. */
struct npy {
	size_t rows;
	unsigned columns;
	struct npy_type type;
	bool by_column; /* Fortran order: the first column's values, then the second's, ... */
	size_t values;	/* their offset in the file */
};

/* the start of a file: the bytes of NPY_MAGIC are enough */
bool npy_is(const char *start, size_t bytes);
#define NPY_MAGIC 6

/* -1, and why, if the file is not supported, or not as long as its header says. */
int npy_open(struct npy *, const struct input *, const char **why);

/*
 * Reads rows first..first+n-1, which must exist, as type `as`. -1, and why, if a value is not a
 * finite number of that type, or an integer that no double holds exactly.
 */
int npy_read(const struct npy *, const struct input *, size_t first, size_t n, enum real as,
	     void *to, const char **why);

/*
 * Writes a new file of type "<f8", "<f4" or "<u4", rows x columns; columns 0: one dimension. Values
 * are added in pieces, in order. NULL or -1, and why: the file exists, or cannot be written
 * completely and is removed. The path must live until npy_finish(), which frees the writer.
 */
struct npy_writer;
struct npy_writer *npy_create(const char *path, const char *type, size_t rows, size_t columns,
			      const char **why);
void npy_add(struct npy_writer *, const void *, size_t bytes);
int npy_finish(struct npy_writer *, const char **why);

/* Saves all values at once. */
int npy_save(const char *path, const char *type, const void *, size_t rows, size_t columns,
	     const char **why);

/* Parts of a header (npy_header.c). */

/* Parses a header's type, "<f8". NULL; or what it is instead, "complex numbers". */
const char *npy_type_parse(struct npy_type *, const char *text);

/* The i-th value as a double; NAN if a double does not hold it exactly. */
double npy_type_get(const struct npy_type *, const void *values, size_t i);

/* Prints the i-th of values, with all digits of an integer. Returns text. */
#define NPY_TYPE_TEXT 32
const char *npy_type_print(const struct npy_type *, const void *values, size_t i,
			   char text[NPY_TYPE_TEXT]);

/*
 * A header is a Python dict: {'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }
 */
struct npy_header {
	char type[16];
	bool fortran;
	size_t shape[2];     /* undefined for more than two dimensions */
	unsigned dimensions; /* any number */
};

/*
 * Parses the text from *at to `end`, where there is a terminating zero. Returns NULL, or what was
 * expected at *at.
 */
const char *npy_header_parse(struct npy_header *, char **at, const char *end);

#endif
