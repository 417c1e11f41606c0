/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/topology/tlb.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "base/arithmetic.h"
#include "base/text.h"

#define MOST_SUBLEAVES 64 /* known CPUs have less than 16 */

/* Sizes of pages, numbered as in leaf 0x18. */
enum { P4K = 1 << 0, P2M = 1 << 1, P4M = 1 << 2, P1G = 1 << 3 };
static const uint64_t page_bytes[] = { 4 << 10, 2 << 20, 4 << 20, 1 << 30 };

#define UNTOLD 0
#define FULLY  UINT64_MAX /* associative */

struct list {
	struct cpuid (*ask)(uint32_t leaf, uint32_t subleaf);
	uint32_t last, last_extended; /* highest leaves */
	struct tlb *tlb;
	unsigned n;
};

static void add(struct list *l, unsigned level, const char *type, unsigned pages, uint64_t ways,
		uint64_t entries)
{
	/* "2 or 4 MiB" is 2, except in 32-bit mode without PAE. */
	if (pages & P2M)
		pages &= ~(unsigned)P4M;
	for (unsigned i = 0; i < LENGTH(page_bytes) && l->n < MOST_TLBS && level && entries; i++)
		if (pages & 1u << i)
			l->tlb[l->n++] = (struct tlb){ level, type, page_bytes[i], entries,
						       ways == FULLY ? entries : ways };
}

/* Beyond the last leaf a CPU returns the data of another one. */
static struct cpuid registers_of(const struct list *l, uint32_t leaf, uint32_t subleaf)
{
	uint32_t last = leaf & 0x80000000 ? l->last_extended : l->last;

	return leaf <= last ? l->ask(leaf, subleaf) : (struct cpuid){ 0 };
}

/* ---- Intel: Software Developer's Manual, volume 2A, CPUID ---- */

static void add_subleaf(struct list *l, const struct cpuid *r)
{
	static const char *const types[32] = { NULL,	  "data", "instruction",
					       "unified", "load", "store" };
	const char *type = types[r->edx & 0x1f];
	uint64_t ways = r->ebx >> 16;

	if (type)
		add(l, r->edx >> 5 & 7, type, r->ebx & 0xf, r->edx & 1 << 8 ? FULLY : ways,
		    ways * r->ecx);
}

/*
 * Leaf 0x18, deterministic address translation parameters. Subleaves without a TLB may lie between
 * others.
 */
static void decode_parameters(struct list *l)
{
	uint32_t last = registers_of(l, 0x18, 0).eax;

	for (uint32_t i = 0; i <= last && i < MOST_SUBLEAVES; i++) {
		struct cpuid r = registers_of(l, 0x18, i);

		add_subleaf(l, &r);
	}
}

/*
 * Table "Encoding of CPUID Leaf 2 Descriptors". It only names the levels "uTLB", "TLB0", "TLB1",
 * "2nd-level"; that 0x64 backs 0xa0, and 0x6b to 0x6d back 0x6a, is from the Optimization Reference
 * Manual (Goldmont, Knights Landing).
 */
static const struct {
	uint8_t descriptor, level;
	const char *type;
	unsigned pages;
	uint64_t ways, entries;
} descriptors[] = {
	{ 0x01, 1, "instruction", P4K, 4, 32 },
	{ 0x02, 1, "instruction", P4M, FULLY, 2 },
	{ 0x03, 1, "data", P4K, 4, 64 },
	{ 0x04, 1, "data", P4M, 4, 8 },
	{ 0x05, 2, "data", P4M, 4, 32 },
	{ 0x0b, 1, "instruction", P4M, 4, 4 },
	{ 0x4f, 1, "instruction", P4K, UNTOLD, 32 },
	{ 0x50, 1, "instruction", P4K | P2M | P4M, UNTOLD, 64 },
	{ 0x51, 1, "instruction", P4K | P2M | P4M, UNTOLD, 128 },
	{ 0x52, 1, "instruction", P4K | P2M | P4M, UNTOLD, 256 },
	{ 0x55, 1, "instruction", P2M | P4M, FULLY, 7 },
	{ 0x56, 1, "data", P4M, 4, 16 },
	{ 0x57, 1, "data", P4K, 4, 16 },
	{ 0x59, 1, "data", P4K, FULLY, 16 },
	{ 0x5a, 1, "data", P2M | P4M, 4, 32 },
	{ 0x5b, 1, "data", P4K | P4M, UNTOLD, 64 },
	{ 0x5c, 1, "data", P4K | P4M, UNTOLD, 128 },
	{ 0x5d, 1, "data", P4K | P4M, UNTOLD, 256 },
	{ 0x61, 1, "instruction", P4K, FULLY, 48 },
	{ 0x63, 1, "data", P2M | P4M, 4, 32 },
	{ 0x63, 1, "data", P1G, 4, 4 },
	{ 0x64, 2, "data", P4K, 4, 512 },
	{ 0x6a, 1, "data", P4K, 8, 64 },
	{ 0x6b, 2, "data", P4K, 8, 256 },
	{ 0x6c, 2, "data", P2M | P4M, 8, 128 },
	{ 0x6d, 2, "data", P1G, FULLY, 16 },
	{ 0x76, 1, "instruction", P2M | P4M, FULLY, 8 },
	{ 0xa0, 1, "data", P4K, FULLY, 32 },
	{ 0xb0, 1, "instruction", P4K, 4, 128 },
	{ 0xb1, 1, "instruction", P2M, 4, 8 }, /* or 4 of 4 MiB */
	{ 0xb2, 1, "instruction", P4K, 4, 64 },
	{ 0xb3, 1, "data", P4K, 4, 128 },
	{ 0xb4, 2, "data", P4K, 4, 256 },
	{ 0xb5, 1, "instruction", P4K, 8, 64 },
	{ 0xb6, 1, "instruction", P4K, 8, 128 },
	{ 0xba, 2, "data", P4K, 4, 64 },
	{ 0xc0, 1, "data", P4K | P4M, 4, 8 },
	{ 0xc1, 2, "unified", P4K | P2M, 8, 1024 },
	{ 0xc2, 1, "data", P4K | P2M, 4, 16 },
	{ 0xc3, 2, "unified", P4K | P2M, 6, 1536 },
	{ 0xc3, 2, "unified", P1G, 4, 16 },
	{ 0xc4, 1, "data", P2M | P4M, 4, 32 },
	{ 0xca, 2, "unified", P4K, 4, 512 },
};

static void add_descriptor(struct list *l, uint8_t descriptor)
{
	for (unsigned i = 0; i < LENGTH(descriptors); i++)
		if (descriptors[i].descriptor == descriptor)
			add(l, descriptors[i].level, descriptors[i].type, descriptors[i].pages,
			    descriptors[i].ways, descriptors[i].entries);
}

/*
 * Leaf 2: each byte of the registers, except AL, is a descriptor. A register whose highest bit is 1
 * has none.
 */
static void decode_descriptors(struct list *l)
{
	struct cpuid r = registers_of(l, 2, 0);
	const uint32_t registers[] = { r.eax & ~(uint32_t)0xff, r.ebx, r.ecx, r.edx };

	for (unsigned i = 0; i < LENGTH(registers); i++)
		for (unsigned shift = 0; shift < 32 && !(registers[i] >> 31); shift += 8)
			add_descriptor(l, (uint8_t)(registers[i] >> shift));
}

static void decode_intel(struct list *l)
{
	decode_parameters(l);
	if (!l->n)
		decode_descriptors(l);
}

/* ---- AMD: Architecture Programmer's Manual, volume 3, appendix E ---- */

/*
 * Decodes half a register: 8 bits of ways and 8 of entries (units 0), or a code of 4 bits for the
 * ways and 12 bits of entries, counted in `units`.
 */
static void add_half(struct list *l, unsigned level, const char *type, unsigned page,
		     unsigned units, unsigned half)
{
	static const uint64_t ways[16] = { 0,  1,      2,  3,  4,  6,  8,   UNTOLD,
					   16, UNTOLD, 32, 48, 64, 96, 128, FULLY };

	if (!units)
		add(l, level, type, page, half >> 8 == 0xff ? FULLY : half >> 8, half & 0xff);
	else if (half >> 12) /* 0: disabled */
		add(l, level, type, page, ways[half >> 12], (uint64_t)(half & 0xfff) * units);
}

/*
 * For pages of 2 and 4 MiB CPUID has the number of 2 MiB pages. Level 2 without a data TLB is
 * unified.
 */
static void decode_amd(struct list *l)
{
	/* L2TlbSizeX32: entries are counted in 32s if 12 bits are too few */
	unsigned units = registers_of(l, 0x80000021, 0).eax & 1 << 14 ? 32 : 1;
	const struct {
		uint32_t leaf;
		bool ebx;
		unsigned level, page, units;
	} registers[] = {
		{ 0x80000005, false, 1, P2M, 0 },     { 0x80000005, true, 1, P4K, 0 },
		{ 0x80000006, false, 2, P2M, units }, { 0x80000006, true, 2, P4K, units },
		{ 0x80000019, false, 1, P1G, 1 },     { 0x80000019, true, 2, P1G, units },
	};

	for (unsigned i = 0; i < LENGTH(registers); i++) {
		unsigned level = registers[i].level, page = registers[i].page;
		struct cpuid r = registers_of(l, registers[i].leaf, 0);
		uint32_t value = registers[i].ebx ? r.ebx : r.eax, data = value >> 16;

		add_half(l, level, "data", page, registers[i].units, data);
		add_half(l, level, data || level == 1 ? "instruction" : "unified", page,
			 registers[i].units, value & 0xffff);
	}
}

/* ---- both ---- */

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int in_order(const void *a, const void *b)
{
	const struct tlb *x = a, *y = b;
	int order = compare(x->level, y->level);

	order = order ? order : strcmp(x->type, y->type);
	order = order ? order : compare(x->page, y->page);
	return order ? order : compare(x->entries, y->entries);
}

unsigned tlb_decode(struct cpuid (*ask)(uint32_t leaf, uint32_t subleaf),
		    struct tlb tlbs[MOST_TLBS], const char **why)
{
	static const struct {
		const char *name;
		void (*decode)(struct list *);
	} vendors[] = {
		{ "GenuineIntel", decode_intel },
		{ "AuthenticAMD", decode_amd },
		{ "HygonGenuine", decode_amd },
	};
	struct cpuid first = ask(0, 0), extended = ask(0x80000000, 0);
	struct list l = { .ask = ask, .last = first.eax, .tlb = tlbs };
	const uint32_t name[] = { first.ebx, first.edx, first.ecx };

	/* otherwise there are no extended leaves: another one answered */
	if (extended.eax >> 16 == 0x8000)
		l.last_extended = extended.eax;
	for (unsigned i = 0; i < LENGTH(vendors); i++) {
		if (memcmp(vendors[i].name, name, sizeof(name)))
			continue;
		vendors[i].decode(&l);
		qsort(l.tlb, l.n, sizeof(*l.tlb), in_order);
		*why = "CPUID describes none: a hypervisor may hide them";
		return l.n;
	}
	*why = "locus does not know how CPUs of this vendor describe them";
	return 0;
}

#if defined(__x86_64__) || defined(__i386__)
static struct cpuid ask_cpu(uint32_t leaf, uint32_t subleaf)
{
	struct cpuid r;

	__cpuid_count(leaf, subleaf, r.eax, r.ebx, r.ecx, r.edx);
	return r;
}

unsigned tlb_read(struct tlb tlbs[MOST_TLBS], const char **why)
{
	return tlb_decode(ask_cpu, tlbs, why);
}
#else
unsigned tlb_read(struct tlb tlbs[MOST_TLBS], const char **why)
{
	(void)tlbs;
	*why = "this architecture does not describe them";
	return 0;
}
#endif

void tlb_print(const struct tlb *tlbs, unsigned n, FILE *out)
{
	fprintf(out, "%-5s  %9s  %7s  %9s  %s\n", "TLB", "page", "entries", "ways", "of");
	for (const struct tlb *t = tlbs; t < tlbs + n; t++) {
		char page[TEXT_BYTES], ways[24] = "-";

		if (t->ways)
			snprintf(ways, sizeof(ways), "%llu", (unsigned long long)t->ways);
		fprintf(out, "L%-4u  %9s  %7llu  %9s  %s\n", t->level, text_bytes(page, t->page),
			(unsigned long long)t->entries, t->ways == t->entries ? "all" : ways,
			t->type);
	}
}
