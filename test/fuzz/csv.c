/* SPDX-License-Identifier: Apache-2.0 */
/* Text files with numbers. */
#include "fuzz.h"
#include "matrix.h"

void fuzz_csv(const uint8_t *data, size_t size)
{
	fuzz_matrix(data, size);
}
