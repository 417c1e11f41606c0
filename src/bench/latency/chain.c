/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arithmetic.h"
#include "bench/latency/chain.h"
#include "kit/random.h"

static size_t per_page(const struct chain *c)
{
	return c->page / c->stride;
}

/* A working set smaller than a page is treated as one page. */
static bool below_a_page(const struct chain *c)
{
	return c->bytes < c->page;
}

static size_t stride_of(const struct chain *c)
{
	return c->pattern == PATTERN_PAGE_STRIDE ? c->page + sizeof(void *) : c->stride;
}

size_t chain_elements(const struct chain *c)
{
	const size_t stride = stride_of(c);

	switch (c->pattern) {
	case PATTERN_PAGE_RANDOM:
		return c->bytes / c->page;
	case PATTERN_PAGE_CYCLE:
		return below_a_page(c) ? c->bytes / c->stride : c->bytes / c->page * per_page(c);
	case PATTERN_CYCLE:
	case PATTERN_PAGE_STRIDE:
	case PATTERN_LINE_STRIDE:
		break;
	}
	/* The last element needs room for itself, not for a whole stride. */
	return c->bytes < sizeof(void *) ? c->bytes / stride
					 : (c->bytes - sizeof(void *)) / stride + 1;
}

/* Each page has its own order of elements, so that no stride repeats. */
static size_t at_in_pages(const struct chain *c, size_t turn)
{
	const size_t each = per_page(c),
		     page = random_permute(turn / each, c->bytes / c->page, c->seed);

	return page * c->page +
	       random_permute(turn % each, each, random_mix(c->seed + page + 1)) * c->stride;
}

size_t chain_at(const struct chain *c, size_t turn)
{
	size_t page;

	switch (c->pattern) {
	case PATTERN_CYCLE:
		return random_permute(turn, chain_elements(c), c->seed) * c->stride;
	case PATTERN_PAGE_CYCLE:
		return below_a_page(c)
			       ? random_permute(turn, chain_elements(c), c->seed) * c->stride
			       : at_in_pages(c, turn);
	case PATTERN_PAGE_RANDOM:
		page = random_permute(turn, chain_elements(c), c->seed);
		return page * c->page + random_mix(c->seed ^ ~page) % (c->page / c->line) * c->line;
	case PATTERN_PAGE_STRIDE:
	case PATTERN_LINE_STRIDE:
		break;
	}
	return turn * stride_of(c);
}

void chain_lay(const struct chain *c, void *base, bool ints, size_t begin, size_t end)
{
	const size_t elements = chain_elements(c);
	size_t at = begin < end ? chain_at(c, begin) : 0;

	for (size_t turn = begin; turn < end; turn++) {
		size_t next = chain_at(c, turn + 1 < elements ? turn + 1 : 0);

		if (ints)
			*(int *)((char *)base + at) = (int)(next / sizeof(int));
		else
			*(void **)((char *)base + at) = (char *)base + next;
		at = next;
	}
}

/*
 * The loop has only dependent loads, and one counter and branch for at least LOADS of them.
 * Positions are in registers; beyond about 14 chains they spill to the stack, which loads that miss
 * the caches hide.
 */
#define LOADS	      16
#define STEPS(chains) ((chains) < LOADS ? (LOADS + (chains)-1) / (chains) : 1)

#define CHASE(chains)                                                                              \
	static __attribute__((noinline)) void chase_##chains(union position *at, const void *base, \
							     uint64_t rounds)                      \
	{                                                                                          \
		void *p[chains];                                                                   \
                                                                                                   \
		(void)base;                                                                        \
		for (unsigned i = 0; i < (chains); i++)                                            \
			p[i] = at[i].element;                                                      \
		for (; rounds; rounds--)                                                           \
			_Pragma("GCC unroll 16") for (unsigned step = 0; step < STEPS(chains);     \
						      step++)                                      \
				_Pragma("GCC unroll 32") for (unsigned i = 0; i < (chains); i++)   \
					p[i] = *(void **)p[i];                                     \
		for (unsigned i = 0; i < (chains); i++)                                            \
			at[i].element = p[i];                                                      \
	}
CHASE(1)
CHASE(2)
CHASE(3)
CHASE(4)
CHASE(6)
CHASE(8)
CHASE(12)
CHASE(16)
CHASE(24)
CHASE(32)

static __attribute__((noinline)) void chase_ints(union position *at, const void *base,
						 uint64_t rounds)
{
	/* lesson cache-tlb */
	const int *array = base;
	uint64_t i = at[0].index;

	for (; rounds; rounds--) {
#pragma GCC unroll 16
		for (unsigned step = 0; step < STEPS(1); step++)
			i = (uint64_t)(int64_t)array[i];
	}
	at[0].index = i;
	/* lesson ends */
}

static const struct {
	unsigned chains;
	chase *run;
} kernels[] = { { 1, chase_1 },	  { 2, chase_2 },  { 3, chase_3 },   { 4, chase_4 },
		{ 6, chase_6 },	  { 8, chase_8 },  { 12, chase_12 }, { 16, chase_16 },
		{ 24, chase_24 }, { 32, chase_32 } };

chase *chase_choose(unsigned chains, bool ints)
{
	if (ints)
		return chains == 1 ? chase_ints : NULL;
	for (unsigned i = 0; i < LENGTH(kernels); i++)
		if (kernels[i].chains == chains)
			return kernels[i].run;
	return NULL;
}

unsigned chase_loads(unsigned chains)
{
	return chains * STEPS(chains);
}
