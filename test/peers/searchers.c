/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled by -O3, whatever the flags of the build. Of the S+ tree in its fastest form: the loops
 * over a packet unrolled 8 times (not at all, by -funroll-loops, and fully were slower).
 */
#include <stdbool.h>

#include "searchers.h"

#define UNROLL _Pragma("GCC unroll 8")

enum {
	BATCH = 16,
	/* from this layer of the S+ tree on lines are prefetched: those before are some KiB */
	FETCHED = 3,
};

void standard_lower_bound_u32(const uint32_t *sorted, size_t n, const uint32_t *keys, size_t count,
			      uint32_t *answers) __attribute__((weak));
void standard_lower_bound_u64(const uint64_t *sorted, size_t n, const uint64_t *keys, size_t count,
			      uint32_t *answers) __attribute__((weak));

#ifdef __x86_64__
#include <immintrin.h>
#define SPLUS_TARGET __attribute__((target("avx2,popcnt")))
#define INLINE	     SPLUS_TARGET static inline __attribute__((always_inline))
typedef __m256i vector_u32, vector_u64;

INLINE __m256i splat_u32(uint32_t key)
{
	return _mm256_set1_epi32((int)(key ^ UINT32_C(1) << 31));
}

INLINE unsigned rank_u32(const uint32_t *line, __m256i q)
{
	const __m256i *v = (const __m256i *)line;
	const __m256i less =
		_mm256_packs_epi32(_mm256_cmpgt_epi32(q, v[0]), _mm256_cmpgt_epi32(q, v[1]));

	return (unsigned)__builtin_popcount((unsigned)_mm256_movemask_epi8(less)) / 2;
}

INLINE __m256i splat_u64(uint64_t key)
{
	return _mm256_set1_epi64x((long long)(key ^ UINT64_C(1) << 63));
}

INLINE unsigned rank_u64(const uint64_t *line, __m256i q)
{
	const __m256i *v = (const __m256i *)line;
	const __m256i less =
		_mm256_packs_epi32(_mm256_cmpgt_epi64(q, v[0]), _mm256_cmpgt_epi64(q, v[1]));

	return (unsigned)__builtin_popcount((unsigned)_mm256_movemask_epi8(less)) / 4;
}
#else
/* Left to the compiler. */
#define SPLUS_TARGET
typedef int32_t vector_u32;
typedef int64_t vector_u64;

static inline int32_t splat_u32(uint32_t key)
{
	return (int32_t)(key ^ UINT32_C(1) << 31);
}

static inline unsigned rank_u32(const uint32_t *line, int32_t q)
{
	unsigned less = 0;

	for (unsigned i = 0; i < 16; i++)
		less += (int32_t)line[i] < q;
	return less;
}

static inline int64_t splat_u64(uint64_t key)
{
	return (int64_t)(key ^ UINT64_C(1) << 63);
}

static inline unsigned rank_u64(const uint64_t *line, int64_t q)
{
	unsigned less = 0;

	for (unsigned i = 0; i < 8; i++)
		less += (int64_t)line[i] < q;
	return less;
}
#endif

#define KEY	   uint32_t
#define NAME(name) name##_u32
#include "searchers_loops.h"

#define KEY	   uint64_t
#define NAME(name) name##_u64
#include "searchers_loops.h"

const struct other *searchers_other(unsigned width, unsigned i)
{
	const unsigned all = sizeof(others_u32) / sizeof(*others_u32) - !standard_lower_bound_u32;

	return i >= all ? NULL : width == sizeof(uint32_t) ? &others_u32[i] : &others_u64[i];
}
