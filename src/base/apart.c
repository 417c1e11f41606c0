/* SPDX-License-Identifier: Apache-2.0 */
#include "base/apart.h"

#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"

void *apart_alloc(size_t bytes)
{
	const size_t whole = round_up(bytes, APART);
	void *memory = aligned_alloc(APART, whole);

	return memory ? memset(memory, 0, whole) : NULL;
}
