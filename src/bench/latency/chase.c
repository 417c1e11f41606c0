/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arithmetic.h"
#include "bench/latency/chase.h"

/*
 * The loop has only dependent loads, and one counter and branch for at least LOADS of them.
 * Positions are in registers; beyond about 14 chains they spill to the stack, which loads that miss
 * the caches hide.
 */
#define LOADS	      16
#define STEPS(chains) ((chains) < LOADS ? (LOADS + (chains) - 1) / (chains) : 1)

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
	const int *array = base;
	uint64_t i = at[0].index;

	for (; rounds; rounds--)
		_Pragma("GCC unroll 16") for (unsigned step = 0; step < STEPS(1); step++) i =
			(uint64_t)(int64_t)array[i];
	at[0].index = i;
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
