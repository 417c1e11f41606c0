/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sorted array as a tree of cache lines, and lower_bound in it, many keys at once: the first
 * element that is not less than the key. The idea is that of Khuong's and Slotin's static B-trees
 * (S+ trees; algorithmica.org/en/hpc): a node is a line, compared with a key by one vector or a
 * few, and the lowest layer is the sorted array itself, so that what is found is an index.
 *
 *	the top      up to 16 x FAN lines of the layer below are told apart here, by a binary search
 *                   of as many keys at once as a vector has lanes; its
 *	             separators are in Eytzinger order: 1 is the root's, 2i and 2i + 1 the
 *	             children's of i. Only where vectors can be permuted by an index:
 *	             others begin at the root, which is the first of
 *	layers       each a row of lines; slot i of a layer is the last key of line i of the next
 *                   one. Of its last line and beyond it is the largest key there
 *	             is, so that no search leaves a layer at its end
 *	the bottom   the sorted array, filled up to whole lines with the largest key
 *
 * FAN, the keys of a line, is 16 or 8. A search counts the slots of a line that are less than the
 * key, and that many lines it goes on to the right.
 *
 * A batch of keys goes through layer after layer, and each finds the line on its way that it will
 * need in the next one. (A pipeline, in which groups of keys follow each other through the layers,
 * so that far lines come while near ones are searched, was tried in many ways, and is slower: lines
 * from everywhere then wait for the same few buffers.) A call for each packet of 128 keys loses
 * little beside one for many.
 */
#ifndef LOCUS_SEARCH_TREE_H
#define LOCUS_SEARCH_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "kit/instructions.h"

#define TREE_LINE 64 /* bytes of a node; also where the machine's lines are longer */

enum { MOST_LAYERS = 10 }; /* 2^32 keys of 8 bytes */

struct tree {
	size_t n;
	unsigned width;	 /* bytes of a key: 4 or 8 */
	unsigned layers; /* above the bottom */
	/* the layer that the top leads to; levels of the top */
	unsigned first, depth;
	/* from this layer on, lines are prefetched: those before stay in the cache */
	unsigned far;
	const void *top, *layer[MOST_LAYERS + 1]; /* layer[0] the root, layer[layers] the bottom */
};

/* elements of the array, filled up to whole lines; of none, a line */
size_t tree_padded(size_t n, unsigned width);
size_t tree_bytes(size_t n, unsigned width); /* that a tree needs beyond that array */

/*
 * Over a sorted array of n elements, filled up to tree_padded() with the largest key. Both it and
 * `memory`, of tree_bytes(), begin at a line; they belong to the caller, and stay as long as the
 * tree. Elements are UINT32_MAX at most, of 4 or 8 bytes.
 */
void tree_build(struct tree *, const void *sorted, size_t n, unsigned width, void *memory);

/*
 * answers[i]: how many elements are less than keys[i]. Keys and answers may be `count` anywhere;
 * both are read, and written, within these.
 */
typedef void tree_search(const struct tree *, const void *keys, size_t count, uint32_t *answers);

/*
 * NULL: not compiled in. Whether this CPU can run it is the caller's question
 * (instruction_set_usable()).
 */
tree_search *tree_searcher(unsigned width, enum instruction_set);

#endif
