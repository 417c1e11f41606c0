/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header of an NPY file: a Python dict, {'descr': '<f8', 'fortran_order': False, 'shape': (3,
 * 2), }
 */
#ifndef LOCUS_NPY_HEADER_H
#define LOCUS_NPY_HEADER_H

#include <stdbool.h>
#include <stddef.h>

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
