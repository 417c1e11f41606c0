/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Includes the file LOOPS once for each instruction set and type of values. Not an ordinary header:
 * a source includes it once, after it has defined LOOPS. For LOOPS are defined:
 *
 *	NAME(function)             the function's name
 *	TARGET                     the function attribute that enables the instructions; empty for
 *	                           the baseline
 *	REAL, INT                  the type of a value; the integer of its size
 *	IS_FLOAT                   whether the type is float
 *	WIDTH, LANES               bytes of a vector, values of a vector
 *	NAME(vector)               values; NAME(unaligned): the same, not aligned
 *	NAME(integers)             as many INT
 *	V(address)                 the vector there
 *	SPLAT(x)                   x in all lanes
 *	MINUS_PRODUCT(s, x, c)     s - x * c, rounded once where there is an instruction for it
 *	MIN(a, b), MAX(a, b)       lane by lane; b where either is NaN
 *	LEAST(a), TOTAL(a)         of all values of a vector; in any order
 *	GREATER(a, b), AT_MOST(a, b), EQUAL(a, b), DIFFER(a, b)
 *	                           a mask; of NaN only DIFFER is true
 *	PICK(mask, a, b)           a where the mask is set, else b; PICK_INTEGERS: of integers
 *	BITS(mask)                 as an integer: the first value's bit is the lowest
 *	IN_PLACE(a)                an opaque use: the compiler must have it in a register
 *	UNROLL                     before a loop: kit/unroll.h
 *
 * Functions with vector arguments must be inlined: compilers split such vectors into what the
 * function's own target allows.
 */

#include "kit/unroll.h"

#define TOTAL_BY_LANE(a)                                                                   \
	__extension__({                                                                    \
		const NAME(vector) terms = (a);                                            \
		REAL total = 0;                                                            \
                                                                                           \
		UNROLL for (unsigned lane = 0; lane < LANES; lane++) total += terms[lane]; \
		total;                                                                     \
	})

#ifdef __x86_64__
#include <immintrin.h>

/* AVX-512 */
#define SET(name, type)	       name##_avx512_##type
#define TARGET		       TARGET_AVX512
#define WIDTH		       64
#define OP_OF(name, reals)     _mm512_##name##_##reals
#define COMPARE_OF(reals)      _mm512_cmp_##reals##_mask
#define SPLAT(x)	       OP(set1)(x)
#define MINUS_PRODUCT(s, x, c) OP(fnmadd)(x, c, s)
#define MIN(a, b)	       OP(min)(a, b)
#define MAX(a, b)	       OP(max)(a, b)
#define LEAST(a)	       OP(reduce_min)(a)
#define TOTAL(a)	       OP(reduce_add)(a)
#define GREATER(a, b)	       COMPARE(a, b, _CMP_GT_OQ)
#define AT_MOST(a, b)	       COMPARE(a, b, _CMP_LE_OQ)
#define EQUAL(a, b)	       COMPARE(a, b, _CMP_EQ_OQ)
#define DIFFER(a, b)	       COMPARE(a, b, _CMP_NEQ_UQ)
#define PICK(mask, a, b)       OP(mask_mov)(b, mask, a)
#define PICK_INTEGERS(mask, a, b) \
	((NAME(integers))INTEGER_OP(mask_mov)((__m512i)(b), mask, (__m512i)(a)))
#define BITS(mask)  ((uint32_t)(mask))
#define IN_PLACE(a) __asm__ volatile("" : "+v"(a))
#include "solve/kmeans/vectors_types.h"

/* AVX2 and FMA */
__attribute__((target("avx2"))) static inline double least_avx2_double(__m256d a)
{
	const __m128d two = _mm_min_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));

	return _mm_cvtsd_f64(_mm_min_sd(two, _mm_unpackhi_pd(two, two)));
}

__attribute__((target("avx2"))) static inline float least_avx2_float(__m256 a)
{
	const __m128 four = _mm_min_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
	const __m128 two = _mm_min_ps(four, _mm_movehl_ps(four, four));

	return _mm_cvtss_f32(_mm_min_ss(two, _mm_shuffle_ps(two, two, 1)));
}

#define SET(name, type)	       name##_avx2_##type
#define TARGET		       TARGET_AVX2
#define WIDTH		       32
#define OP_OF(name, reals)     _mm256_##name##_##reals
#define SPLAT(x)	       OP(set1)(x)
#define MINUS_PRODUCT(s, x, c) OP(fnmadd)(x, c, s)
#define MIN(a, b)	       OP(min)(a, b)
#define MAX(a, b)	       OP(max)(a, b)
#define LEAST(a)	       NAME(least)(a)
#define TOTAL(a)	       TOTAL_BY_LANE(a)
#define GREATER(a, b)	       OP(cmp)(a, b, _CMP_GT_OQ)
#define AT_MOST(a, b)	       OP(cmp)(a, b, _CMP_LE_OQ)
#define EQUAL(a, b)	       OP(cmp)(a, b, _CMP_EQ_OQ)
#define DIFFER(a, b)	       OP(cmp)(a, b, _CMP_NEQ_UQ)
#define PICK(mask, a, b)       OP(blendv)(b, a, mask)
#define PICK_INTEGERS(mask, a, b) \
	((NAME(integers))OP(blendv)((NAME(vector))(b), (NAME(vector))(a), mask))
#define BITS(mask)  ((uint32_t)OP(movemask)(mask))
#define IN_PLACE(a) __asm__ volatile("" : "+v"(a))
#include "solve/kmeans/vectors_types.h"
#endif

/*
 * The baseline, which every CPU of the architecture has. Whether MINUS_PRODUCT is fused depends on
 * the architecture. A mask is a vector whose lanes have all bits set or none.
 */
#define SET(name, type) name##_baseline_##type
#define TARGET
#define WIDTH		       16
#define SPLAT(x)	       ((REAL)(x) - (NAME(vector)){ 0 })
#define MINUS_PRODUCT(s, x, c) ((s) - (x) * (c))
#define MIN(a, b)	       PICK((a) < (b), a, b)
#define MAX(a, b)	       PICK((a) > (b), a, b)
#define TOTAL(a)	       TOTAL_BY_LANE(a)
#define LEAST(a)                                                                   \
	__extension__({                                                            \
		const NAME(vector) of_these = (a);                                 \
		REAL least_lane = of_these[0];                                     \
                                                                                   \
		UNROLL for (unsigned lane = 1; lane < LANES; lane++) least_lane =  \
			of_these[lane] < least_lane ? of_these[lane] : least_lane; \
		least_lane;                                                        \
	})
#define GREATER(a, b) ((a) > (b))
#define AT_MOST(a, b) ((a) <= (b))
#define EQUAL(a, b)   ((a) == (b))
#define DIFFER(a, b)  ((a) != (b))
#define PICK(mask, a, b) \
	((NAME(vector))PICK_INTEGERS(mask, (NAME(integers))(a), (NAME(integers))(b)))
#define PICK_INTEGERS(mask, a, b) (((mask) & (a)) | (~(mask) & (b)))
#define BITS(mask)                                                                \
	__extension__({                                                           \
		const NAME(integers) lanes = (mask);                              \
		uint32_t lane_bits = 0;                                           \
                                                                                  \
		UNROLL for (unsigned lane = 0; lane < LANES; lane++) lane_bits |= \
			(uint32_t)(lanes[lane] & 1) << lane;                      \
		lane_bits;                                                        \
	})
#ifdef __aarch64__
#define IN_PLACE(a) __asm__ volatile("" : "+w"(a))
#elif defined(__x86_64__)
#define IN_PLACE(a) __asm__ volatile("" : "+x"(a))
#else
#define IN_PLACE(a) __asm__ volatile("" : "+m"(a))
#endif

#include "solve/kmeans/vectors_types.h"
