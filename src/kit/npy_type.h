/* SPDX-License-Identifier: Apache-2.0 */
/* The types of NPY's values that are read: real numbers of at most 8 bytes, any byte order. */
#ifndef LOCUS_NPY_TYPE_H
#define LOCUS_NPY_TYPE_H

#include <stdbool.h>
#include <stddef.h>

struct npy_type {
	char kind; /* NumPy's letter: f, i, u, or b for a truth value */
	unsigned bytes;
	bool swapped; /* big endian */
};

/* Parses what a header says, "<f8". NULL; or what it is instead, "complex numbers". */
const char *npy_type_parse(struct npy_type *, const char *text);

/* The i-th of values as a double; NAN where a double does not hold it exactly. */
double npy_type_get(const struct npy_type *, const void *values, size_t i);

/* Prints the i-th of values, with all digits of an integer. Returns text. */
#define NPY_TYPE_TEXT 32
const char *npy_type_print(const struct npy_type *, const void *values, size_t i,
			   char text[NPY_TYPE_TEXT]);

#endif
