/* SPDX-License-Identifier: Apache-2.0 */
/* NPY files. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "matrix.h"

/*
 * With NPY's magic it is a file as it stands; else a header and, in the lines after it, values, of
 * which a file is made.
 */
void fuzz_npy(const uint8_t *data, size_t size)
{
	const uint8_t *const end = size ? memchr(data, '\n', size) : NULL;
	const size_t header = end ? (size_t)(end - data) : size;
	const uint8_t preamble[] = { 0x93, 'N', 'U', 'M',	    'P',
				     'Y',  1,	0,   header & 0xff, header >> 8 & 0xff };
	uint8_t *file;

	if (size >= 6 && !memcmp(data, preamble, 6)) {
		fuzz_matrix(data, size);
		return;
	}
	file = malloc(size + sizeof(preamble));
	must(file);
	memcpy(file, preamble, sizeof(preamble));
	memcpy(file + sizeof(preamble), data, header);
	memcpy(file + sizeof(preamble) + header, data + header + !!end, size - header - !!end);
	fuzz_matrix(file, size + sizeof(preamble) - !!end);
	free(file);
}
