/* SPDX-License-Identifier: Apache-2.0 */
/* NPY files. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "matrix.h"

/*
 * Input that begins with NPY's preamble is a whole file. Other input is a line with a header and
 * then values, to which the preamble is added.
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
