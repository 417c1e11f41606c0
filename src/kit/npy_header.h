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
	size_t shape[2];     /* of more dimensions, something */
	unsigned dimensions; /* any number */
};

/*
 * Reads a text from *at to `end`, where it has a terminating zero. Returns NULL, or what was
 * expected at *at instead of what is there.
 */
const char *npy_header_parse(struct npy_header *, char **at, const char *end);

#endif
