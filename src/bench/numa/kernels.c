/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/numa/kernels.h"

#ifdef __FAST_MATH__
#error "sum-scalar adds in order; -ffast-math (-Ofast) would not: leave it out of CFLAGS"
#endif

#define FACTOR 3.0

#define RESULT_COPY(x, y)  (x)
#define RESULT_SCALE(x, y) ((x)*FACTOR)
#define RESULT_ADD(x, y)   ((x) + (y))
#define RESULT_TRIAD(x, y) ((x) + (y)*FACTOR)

/* Elements before the first one that is aligned to a vector; at most n. */
static inline size_t unaligned(const double *address, size_t width, size_t n)
{
	size_t elements = -(uintptr_t)address % width / sizeof(double);

	return elements < n ? elements : n;
}

/* More elements than any L1 holds, on CPUs with vectors of 64 bytes, which have 32 or 48 KiB. */
#define MOST_IN_L1 ((64 << 10) / sizeof(double))

/* Forces the compiler to compute this vector here. */
#ifdef __x86_64__
#define IN_PLACE(vector) __asm__ volatile("" : "+v"(vector))
#else
#define IN_PLACE(vector) (void)0
#endif

/*
 * Between two passes: makes the compiler assume that memory has changed, and that x points
 * elsewhere.
 */
#define AGAIN(x) __asm__ volatile("" : "+r"(x) : : "memory")

#ifdef __x86_64__
#include <immintrin.h>

/* makes the contents of write-combining buffers visible to other CPUs */
#define STREAM_END _mm_sfence()

#define NAME(kernel) kernel##_avx512
#define TARGET	     TARGET_AVX512
#define WIDTH	     64
#define STREAM(to, v, w) \
	(_mm512_stream_pd(to, (__m512d)(v)), _mm512_stream_pd((to) + 8, (__m512d)(w)))
#include "bench/numa/loops.h"

#define NAME(kernel) kernel##_avx2
#define TARGET	     TARGET_AVX2
#define WIDTH	     32
#define STREAM(to, v, w) \
	(_mm256_stream_pd(to, (__m256d)(v)), _mm256_stream_pd((to) + 4, (__m256d)(w)))
#include "bench/numa/loops.h"

#define STREAM(to, v, w) (_mm_stream_pd(to, (__m128d)(v)), _mm_stream_pd((to) + 2, (__m128d)(w)))
#endif

#ifdef __aarch64__
#define STREAM_END	 (void)0
#define STREAM(to, v, w) __asm__("stnp %q1, %q2, %0" : "=Q"(*(double(*)[4])(to)) : "w"(v), "w"(w))
#endif

#define NAME(kernel) kernel##_baseline
#define TARGET
#define WIDTH 16
#include "bench/numa/loops.h"

/* As published: each addition waits for the previous one, because C fixes their order. */
static double sum_scalar(double *to, const double *x, const double *y, size_t n, uint64_t passes)
{
	double sum = 0;

	(void)to, (void)y;
	for (; passes; passes--) {
		for (size_t i = 0; i < n; i++)
			sum += x[i];
		AGAIN(x);
	}
	return sum;
}

/* clang-format off */
#ifdef __x86_64__
#define EACH(kernel)                                                           \
	{                                                                      \
		[ISA_BASELINE] = kernel##_baseline, [ISA_AVX2] = kernel##_avx2, \
		[ISA_AVX512] = kernel##_avx512                                 \
	}
#else
#define EACH(kernel) { [ISA_BASELINE] = kernel##_baseline }
#endif
#ifdef STREAM_END
#define EACH_NT EACH
#else
#define EACH_NT(kernel) { NULL }
#endif
/* clang-format on */

const struct kernel kernels[KERNELS] = {
	[SUM] = { "sum", 1, 0, 1, false, 0, 0, EACH(sum) },
	[SUM_SCALAR] = { "sum-scalar", 1, 0, 1, false, 0, 0, { [ISA_SCALAR] = sum_scalar } },
	[COPY] = { "copy", 1, 1, 0, false, 1, 0, EACH(copy) },
	[SCALE] = { "scale", 1, 1, 1, false, FACTOR, 0, EACH(scale) },
	[ADD] = { "add", 2, 1, 1, false, 1, 1, EACH(add) },
	[TRIAD] = { "triad", 2, 1, 2, false, 1, FACTOR, EACH(triad) },
	[COPY_NT] = { "copy-nt", 1, 1, 0, true, 1, 0, EACH_NT(copy_nt) },
	[SCALE_NT] = { "scale-nt", 1, 1, 1, true, FACTOR, 0, EACH_NT(scale_nt) },
	[ADD_NT] = { "add-nt", 2, 1, 1, true, 1, 1, EACH_NT(add_nt) },
	[TRIAD_NT] = { "triad-nt", 2, 1, 2, true, 1, FACTOR, EACH_NT(triad_nt) },
};

stream *kernel_choose(const struct kernel *kernel, enum isa *set)
{
	for (int i = ISAS - 1; i >= 0; i--) {
		if (!kernel->run[i] || !isa_usable(i))
			continue;
		*set = i;
		return kernel->run[i];
	}
	return NULL;
}
