/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/search/tree.h"
#include "bench/search/kernels.h"

size_t tree_bytes(size_t n, unsigned width)
{
	return n * width / 16 + 1;
}

size_t tree_padded(size_t n, unsigned width)
{
	const size_t line = 64 / width;

	return (n + line - 1) / line * line;
}

int tree_build(struct tree *t, const void *sorted, size_t n, unsigned width, void *memory)
{
	(void)memory;
	*t = (struct tree){ sorted, n, width };
	return 0;
}

static void search_32(const struct tree *t, const void *keys, size_t count, uint32_t *answers)
{
	search_branchless_32(t->sorted, t->n, 0, keys, count, answers);
}

static void search_64(const struct tree *t, const void *keys, size_t count, uint32_t *answers)
{
	search_branchless_64(t->sorted, t->n, 0, keys, count, answers);
}

tree_search *tree_searcher(const struct tree *t, enum instruction_set set)
{
	return set == SCALAR ? t->width == sizeof(uint32_t) ? search_32 : search_64 : NULL;
}
