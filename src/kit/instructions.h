/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instruction sets that kernels are compiled for. The program chooses at run time, so that one
 * binary serves every node of a cluster.
 */
#ifndef LOCUS_INSTRUCTIONS_H
#define LOCUS_INSTRUCTIONS_H

#include <stdbool.h>

enum isa {
	ISA_SCALAR,   /* one element at a time */
	ISA_BASELINE, /* vectors that every CPU of the architecture has: SSE2, NEON */
	ISA_AVX2,     /* with FMA */
	ISA_AVX512,
	ISAS
};

/* Attribute of a function compiled for one set: TARGET_AVX512 static void f(...). */
#ifdef __x86_64__
#define TARGET_AVX2 __attribute__((target("avx2,fma")))
#if __has_attribute(min_vector_width) /* otherwise clang with -march=native would split vectors */
#define TARGET_AVX512 __attribute__((target("avx512f,avx512bw,avx512cd"), min_vector_width(512)))
#else
#define TARGET_AVX512 __attribute__((target("avx512f,avx512bw,avx512cd")))
#endif
#endif

static inline const char *isa_name(enum isa set)
{
	static const char *const names[ISAS] = { [ISA_SCALAR] = "scalar",
						 [ISA_BASELINE] = "baseline",
						 [ISA_AVX2] = "avx2",
						 [ISA_AVX512] = "avx512" };

	return names[set];
}

/* Bytes of a vector. */
static inline unsigned isa_width(enum isa set)
{
	static const unsigned widths[ISAS] = { [ISA_SCALAR] = sizeof(double),
					       [ISA_BASELINE] = 16,
					       [ISA_AVX2] = 32,
					       [ISA_AVX512] = 64 };

	return widths[set];
}

/* Whether this CPU and its system support the set. */
static inline bool isa_usable(enum isa set)
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

#endif
