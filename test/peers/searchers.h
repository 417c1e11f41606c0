/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other ways to search a sorted array of a power of two of elements. All give indexes of the sorted
 * array, as lower_bound does.
 */
#ifndef LOCUS_SEARCHERS_H
#define LOCUS_SEARCHERS_H

#include <stddef.h>
#include <stdint.h>

enum { PACKET = 128 }; /* keys that the S+ tree takes at once: a search is given a multiple */

typedef void search(const void *memory, const void *keys, size_t count, uint32_t *answers);
struct other {
	const char *name;
	size_t (*bytes)(size_t n);
	void (*build)(void *memory, const void *sorted, size_t n);
	search *search;
};

/*
 * Other i, 0 being the S+ tree, for keys of 4 or 8 bytes; NULL: no more. std::lower_bound is the
 * last, and is left out where there was no C++ compiler.
 */
const struct other *searchers_other(unsigned width, unsigned i);

#endif
