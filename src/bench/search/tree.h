/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in with the names of the tree to come: a plain binary search. */
#ifndef LOCUS_SEARCH_TREE_H
#define LOCUS_SEARCH_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "machine/instructions.h"

struct tree {
	const void *sorted;
	size_t n;
	unsigned width;
};

size_t tree_bytes(size_t n, unsigned width);
size_t tree_padded(size_t n, unsigned width);
int tree_build(struct tree *, const void *sorted, size_t n, unsigned width, void *memory);

typedef void tree_search(const struct tree *, const void *keys, size_t count, uint32_t *answers);
tree_search *tree_searcher(const struct tree *, enum instruction_set);

#endif
