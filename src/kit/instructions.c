/* SPDX-License-Identifier: Apache-2.0 */
#include "kit/instructions.h"

static const struct {
	const char *name;
	unsigned width;
} sets[ISAS] = {
	[ISA_SCALAR] = { "scalar", sizeof(double) },
	[ISA_BASELINE] = { "baseline", 16 },
	[ISA_AVX2] = { "avx2", 32 },
	[ISA_AVX512] = { "avx512", 64 },
};

const char *isa_name(enum isa set)
{
	return sets[set].name;
}

unsigned isa_width(enum isa set)
{
	return sets[set].width;
}

bool isa_usable(enum isa set)
{
#ifdef __x86_64__
	if (set == ISA_AVX2)
		return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
	if (set == ISA_AVX512)
		return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
		       __builtin_cpu_supports("avx512cd");
#endif
	return set <= ISA_BASELINE;
}
