/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sorted array as a tree of cache lines, and lower_bound in it (the first element not less than
 * the key) for many keys at once. It follows Khuong's and Slotin's static B-trees (S+ trees;
 * algorithmica.org/en/hpc): a node is a line, compared with a key by one or a few vectors, and the
 * lowest layer is the sorted array itself, so that the result is an index.
 *
 *	the top      selects one of up to 16 x FAN lines of the layer below, by a binary search for
 *	             as many keys at once as a vector has lanes. Its separators are in Eytzinger
 *	             order: 1 is the root's, 2i and 2i + 1 are those of the children of i. It is
 *	             used only where an instruction permutes vectors by an index; elsewhere
 *	             searches begin at the root, the first of the layers
 *	layers       each a row of lines. Slot i of a layer is a separator: the last key of line i
 *	             of the next layer. The slots for the next layer's last line and beyond have a
 *	             key that none exceeds, so that no search leaves a layer at its end
 *	the bottom   the sorted array, filled up to whole lines with the largest key
 *
 * FAN, the keys of a line, is 16 or 8. The number of slots less than the key selects the child.
 *
 * Where separators as wide as keys would not fit into the nearest caches they are narrow: 16 bits
 * of a key, 32 in a line. A layer's shift says which bits. It is the least by which the keys that
 * lead to one line differ, in these bits, by less than 2^15: then the sign of a 16-bit difference
 * orders them (like serial numbers, RFC 1982). Keys outside the array's range are first moved to
 * its ends. A key with the same bits as a separator goes left even if it is greater, so a search
 * may end in a line too early, never too late; all keys of that line are then less, and the search
 * goes on behind it. Where separators of a layer would be equal, because keys are equal or crowded,
 * all are as wide as keys.
 *
 * Cost: a lookup touches one line a layer: log(n) / log(32) of them with narrow separators, and the
 * top is in the cache. Beside the array a tree takes 1/16 of its bytes or less for keys of 4 bytes,
 * 1/8 for keys of 8.
 *
 * A batch of keys goes through one layer after the other, and each key's line of the next layer is
 * prefetched. Where the bottom's lines come from memory, two batches overlap: the lines of one are
 * on their way while the next goes through the layers above. (Pipelines, in which all layers or
 * several passes are mixed, were tried in many forms and were slower: lines from all layers then
 * compete for the same few fill buffers.)
 */
#ifndef LOCUS_SOLVE_TREE_H
#define LOCUS_SOLVE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kit/instructions.h"

#define TREE_LINE 64 /* bytes of a node, also on machines with longer lines */

enum { TREE_MOST_LAYERS = 10 }; /* enough for 2^32 keys of 8 bytes */

struct tree {
	size_t n;
	unsigned width;	 /* bytes of a key: 4 or 8 */
	unsigned layers; /* above the bottom */
	/* the layer that the top leads to, and the slots of its lines; the levels of the top */
	unsigned first, first_slots, depth;
	bool narrow;			       /* separators are narrow */
	unsigned char shift[TREE_MOST_LAYERS]; /* by layer, for narrow separators */
	uint64_t lowest, highest;	       /* keys of the array */
	size_t bytes;			       /* of memory that the tree takes */
	/* from this layer on, lines are prefetched; earlier layers stay in the cache */
	unsigned far;
	bool overlap; /* batches overlap, since the bottom's lines come from memory */
	const void *top,
		*layer[TREE_MOST_LAYERS + 1]; /* layer[0] the root, layer[layers] the bottom */
};

/* elements of the array, padded to whole lines; at least one line */
size_t tree_padded(size_t n, unsigned width);
size_t tree_bytes(size_t n, unsigned width); /* of memory that a tree may need beside the array */

/*
 * Builds a tree over a sorted array of n elements, padded to tree_padded() with the largest key.
 * The array and `memory`, of tree_bytes(), are aligned to lines, owned by the caller, and must
 * outlive the tree. n is at most UINT32_MAX; elements have 4 or 8 bytes.
 */
void tree_build(struct tree *, const void *sorted, size_t n, unsigned width, void *memory);

/*
 * answers[i]: how many elements are less than keys[i]. A batch has no more keys than `packet`, at
 * least 1. Keys and answers need no alignment; nothing beyond `count` of them is read or written.
 */
typedef void tree_search(const struct tree *, const void *keys, size_t count, uint32_t packet,
			 uint32_t *answers);

/* NULL: not compiled in. The caller asks isa_usable() whether this CPU can run it. */
tree_search *tree_searcher(unsigned width, enum isa);

#endif
