/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <string.h>

#include "base/statistics.h"
#include "bench/cores/quantum.h"
#include "kit/unroll.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif
#ifdef __aarch64__
#include <arm_neon.h>
#endif

/* What each lane of a chain adds to the chain's start. */
static const double lane_start[QUANTUM_MOST_LANES] = { 0.0 / 1024, 1.0 / 1024, 2.0 / 1024,
						       3.0 / 1024, 4.0 / 1024, 5.0 / 1024,
						       6.0 / 1024, 7.0 / 1024 };

/* Hides a value from the compiler: clang would hold two chains of doubles in one register. */
#ifdef __x86_64__
#define HIDE(x) __asm__("" : "+x"(x))
#elif defined(__aarch64__)
#define HIDE(x) __asm__("" : "+w"(x))
#else
#define HIDE(x)
#endif

/*
 * Macros and not an inline function: before inlining gcc splits vectors to the width that the
 * naming function may use. LOAD(p): a vector from memory; SPLAT(v): all lanes v; ADD, STEP(x, c).
 */
#define QUANTUM(NAME, TARGET, VECTOR, LOAD, SPLAT, ADD, STEP)                              \
	TARGET static __attribute__((noinline)) uint64_t NAME(double start)                \
	{                                                                                  \
		const VECTOR c = SPLAT(QUANTUM_C), lanes = LOAD(lane_start);               \
		VECTOR x[QUANTUM_CHAINS];                                                  \
		uint64_t bits[QUANTUM_CHAINS * sizeof(VECTOR) / sizeof(double)], sum = 0;  \
                                                                                           \
		UNROLL                                                                     \
		for (unsigned j = 0; j < QUANTUM_CHAINS; j++) {                            \
			x[j] = ADD(lanes, SPLAT(start + j * QUANTUM_MOST_LANES / 1024.0)); \
			HIDE(x[j]);                                                        \
		}                                                                          \
		for (unsigned step = 0; step < QUANTUM_STEPS; step++) {                    \
			UNROLL                                                             \
			for (unsigned j = 0; j < QUANTUM_CHAINS; j++)                      \
				x[j] = STEP(x[j], c);                                      \
		}                                                                          \
		memcpy(bits, x, sizeof(bits));                                             \
		for (size_t i = 0; i < sizeof(bits) / sizeof(*bits); i++)                  \
			sum += bits[i];                                                    \
		return sum;                                                                \
	}

#define ITSELF(x)	   (x)
#define FIRST(p)	   (*(p))
#define SUM(a, b)	   ((a) + (b))
#define FUSED_SCALAR(x, c) __builtin_fma(x, x, c)

#ifdef __x86_64__

/* Multiplies and adds, never fused: HIDE() keeps the compiler from using an FMA instruction. */
static inline __attribute__((always_inline)) double step_scalar(double x, double c)
{
	double product = x * x;

	HIDE(product);
	product += c;
	HIDE(product);
	return product;
}

static inline __attribute__((always_inline)) __m128d step_128(__m128d x, __m128d c)
{
	__m128d product = _mm_mul_pd(x, x);

	HIDE(product);
	return _mm_add_pd(product, c);
}

#define FUSED_256(x, c) _mm256_fmadd_pd(x, x, c)
#define FUSED_512(x, c) _mm512_fmadd_pd(x, x, c)

QUANTUM(quantum_64, , double, FIRST, ITSELF, SUM, step_scalar)
QUANTUM(quantum_128, , __m128d, _mm_loadu_pd, _mm_set1_pd, _mm_add_pd, step_128)
QUANTUM(quantum_256, TARGET_AVX2, __m256d, _mm256_loadu_pd, _mm256_set1_pd, _mm256_add_pd,
	FUSED_256)
QUANTUM(quantum_512, TARGET_AVX512, __m512d, _mm512_loadu_pd, _mm512_set1_pd, _mm512_add_pd,
	FUSED_512)

quantum *const quantum_of[ISAS] = { quantum_64, quantum_128, quantum_256, quantum_512 };

bool quantum_rounds_twice(enum isa set)
{
	return set <= ISA_BASELINE;
}

#elif defined(__aarch64__)

#define FUSED_128(x, c) vfmaq_f64(c, x, x)

QUANTUM(quantum_64, , double, FIRST, ITSELF, SUM, FUSED_SCALAR)
QUANTUM(quantum_128, , float64x2_t, vld1q_f64, vdupq_n_f64, vaddq_f64, FUSED_128)

quantum *const quantum_of[ISAS] = { quantum_64, quantum_128 };

bool quantum_rounds_twice(enum isa set)
{
	(void)set;
	return false;
}

#else

QUANTUM(quantum_64, , double, FIRST, ITSELF, SUM, FUSED_SCALAR)

quantum *const quantum_of[ISAS] = { quantum_64 };

bool quantum_rounds_twice(enum isa set)
{
	(void)set;
	return false;
}

#endif

uint64_t quantum_answer(enum isa set)
{
	static const uint64_t fused[ISAS] = { 0xff04162baf0f127c, 0xfe234b2eee859d5c,
					      0x7b31ae16575d99b5, 0x77b14cd0565aa4f9 };
	static const uint64_t twice[ISAS] = { 0x7f2bd8c6c2b6651d, 0xfe50b0342de321c3 };

	return quantum_rounds_twice(set) ? twice[set] : fused[set];
}

struct quanta quanta_of(double *times, size_t n)
{
	struct quanta q = { 0 };
	double sum = 0, beyond = 0;

	statistics_sort(times, n);
	q.median = statistics_quantile(times, n, 0.5);
	q.tail = statistics_quantile(times, n, 0.999);
	q.gap = times[n - 1] - q.median;
	for (size_t i = 0; i < n; i++) {
		sum += times[i];
		beyond += times[i] > QUANTA_INTERRUPTED * q.median ? times[i] - q.median : 0;
	}
	q.lost = sum > 0 ? beyond / sum : 0;
	return q;
}
