/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tree of files in memory, below MEMORY_ROOT. What the programs call to read files and folders
 * is wrapped by the linker (Makefile.am), and goes on to the kernel for other paths. Nothing of an
 * input is written anywhere, so that an input takes microseconds instead of a millisecond.
 */
#ifndef LOCUS_FUZZ_MEMORY_TREE_H
#define LOCUS_FUZZ_MEMORY_TREE_H

#include <stddef.h>
#include <stdint.h>

#define MEMORY_ROOT "/in-memory"

/* A file; its folders are always there. */
struct memory_entry {
	const char *path;     /* absolute, without MEMORY_ROOT */
	size_t length;	      /* of the path */
	const uint8_t *bytes; /* NULL: there is no such file */
	size_t n;
};

/* The tree from now on; the entries stay the caller's. */
void memory_tree(const struct memory_entry *entries, unsigned n);

#endif
