/* SPDX-License-Identifier: Apache-2.0 */
/* What holds of any file of numbers. */
#ifndef LOCUS_FUZZ_MATRIX_H
#define LOCUS_FUZZ_MATRIX_H

#include <stddef.h>
#include <stdint.h>

/*
 * Either it is refused with a reason, or all rows can be read, are finite, and are the same by any
 * division.
 */
void fuzz_matrix(const uint8_t *data, size_t size);

#endif
