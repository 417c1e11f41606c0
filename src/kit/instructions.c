/* SPDX-License-Identifier: Apache-2.0 */
#include "kit/instructions.h"

static const struct {
	const char *name;
	unsigned width;
} sets[INSTRUCTION_SETS] = {
	[SCALAR] = { "scalar", sizeof(double) },
	[BASELINE] = { "baseline", 16 },
	[AVX2] = { "avx2", 32 },
	[AVX512] = { "avx512", 64 },
};

const char *instruction_set_name(enum instruction_set set)
{
	return sets[set].name;
}

unsigned instruction_set_width(enum instruction_set set)
{
	return sets[set].width;
}

bool instruction_set_usable(enum instruction_set set)
{
#ifdef __x86_64__
	if (set == AVX2)
		return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
	if (set == AVX512)
		return __builtin_cpu_supports("avx512f");
#endif
	return set <= BASELINE;
}
