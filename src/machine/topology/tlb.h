/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The translation lookaside buffers, as the CPU describes them (CPUID): those of the core that
 * asks, which in a hybrid CPU are not everybody's. A TLB that holds pages of several sizes is as
 * many rows, and each has all of its entries.
 */
#ifndef LOCUS_TLB_H
#define LOCUS_TLB_H

#include <stdint.h>
#include <stdio.h>

struct tlb {
	unsigned level;
	const char *type; /* "data", "load", "store", "instruction", "unified" */
	/* bytes; of one TLB: there may be two of the same level, type and page */
	uint64_t page, entries;
	uint64_t ways; /* as many as entries: fully associative; 0: not told */
};
#define MOST_TLBS 64

/* Those of this core, by level, type and page; returns how many, 0 with *why. */
unsigned tlb_read(struct tlb[MOST_TLBS], const char **why);

/*
 * The same from anybody's answers to CPUID, who is asked only for leaves that leaves 0 and
 * 0x80000000 say there are.
 */
struct cpuid {
	uint32_t eax, ebx, ecx, edx;
};
unsigned tlb_decode(struct cpuid (*ask)(uint32_t leaf, uint32_t subleaf), struct tlb[MOST_TLBS],
		    const char **why);

/* For people: a line each, below a head. */
void tlb_print(const struct tlb *, unsigned n, FILE *);

#endif
