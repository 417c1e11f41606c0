/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The translation lookaside buffers (TLBs) of the current core, by CPUID; other cores of a hybrid
 * CPU may have different ones. A TLB for several page sizes has a row for each, with all of its
 * entries.
 */
#ifndef LOCUS_TLB_H
#define LOCUS_TLB_H

#include <stdint.h>
#include <stdio.h>

struct tlb {
	unsigned level;
	const char *type; /* "data", "load", "store", "instruction", "unified" */
	/* page: bytes; several TLBs may have the same level, type and page */
	uint64_t page, entries;
	uint64_t ways; /* equal to entries: fully associative; 0: unknown */
};
#define MOST_TLBS 64

/* Reads the TLBs of this core, sorted by level, type and page; returns how many, or 0 with *why. */
unsigned tlb_read(struct tlb[MOST_TLBS], const char **why);

/*
 * tlb_read() with any function that answers CPUID; it is called only for leaves that leaves 0 and
 * 0x80000000 report.
 */
struct cpuid {
	uint32_t eax, ebx, ecx, edx;
};
unsigned tlb_decode(struct cpuid (*ask)(uint32_t leaf, uint32_t subleaf), struct tlb[MOST_TLBS],
		    const char **why);

/* Prints a table. */
void tlb_print(const struct tlb *, unsigned n, FILE *);

#endif
