/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "bench/kmeans/brute.h"
#include "bench/kmeans/method.h"
#include "kit/instructions.h"

#define UNROLL _Pragma("GCC unroll 64")

#ifdef __x86_64__
#include <immintrin.h>
#define IN_PLACE(v) __asm__ volatile("" : "+v"(v))

/* 32 registers: 24 scores, 3 values of points, one of a centre. */
#define TARGET	TARGET_AVX512
#define WIDTH	64
#define VECTORS 3
#define ROWS	8

#define NAME(function) function##_double_avx512
#define REAL	       double
#define INT	       int64_t
#define GROUP	       8
#define SPLAT(address) (NAME(vector)) _mm512_set1_pd(*(address))
#define MINUS_PRODUCT(s, x, c) \
	(NAME(vector)) _mm512_fnmadd_pd((__m512d)(x), (__m512d)(c), (__m512d)(s))
#define ROOT(v)	      (NAME(vector)) _mm512_sqrt_pd((__m512d)(v))
#define LEAST_LANE(v) _mm512_reduce_min_pd((__m512d)(v))
#define LESSER(a, b)  (NAME(vector)) _mm512_min_pd((__m512d)(a), (__m512d)(b))
#define EQUAL(a, b)   _mm512_cmp_pd_mask((__m512d)(a), (__m512d)(b), _CMP_EQ_OQ)
#define AT_MOST(a, b) _mm512_cmp_pd_mask((__m512d)(a), (__m512d)(b), _CMP_LE_OQ)
#define NOTE(least, where, s, g)                                                                   \
	((where) = (NAME(integers))_mm512_mask_mov_epi64(                                          \
		 (__m512i)(where), _mm512_cmp_pd_mask((__m512d)(s), (__m512d)(least), _CMP_LT_OQ), \
		 _mm512_set1_epi64((long long)(g))),                                               \
	 (least) = LESSER(s, least))
#include "bench/kmeans/tiles.h"

#define NAME(function) function##_float_avx512
#define REAL	       float
#define INT	       int32_t
#define GROUP	       16
#define SPLAT(address) (NAME(vector)) _mm512_set1_ps(*(address))
#define MINUS_PRODUCT(s, x, c) \
	(NAME(vector)) _mm512_fnmadd_ps((__m512)(x), (__m512)(c), (__m512)(s))
#define ROOT(v)	      (NAME(vector)) _mm512_sqrt_ps((__m512)(v))
#define LEAST_LANE(v) _mm512_reduce_min_ps((__m512)(v))
#define LESSER(a, b)  (NAME(vector)) _mm512_min_ps((__m512)(a), (__m512)(b))
#define EQUAL(a, b)   _mm512_cmp_ps_mask((__m512)(a), (__m512)(b), _CMP_EQ_OQ)
#define AT_MOST(a, b) _mm512_cmp_ps_mask((__m512)(a), (__m512)(b), _CMP_LE_OQ)
#define NOTE(least, where, s, g)                                                                 \
	((where) = (NAME(integers))_mm512_mask_mov_epi32(                                        \
		 (__m512i)(where), _mm512_cmp_ps_mask((__m512)(s), (__m512)(least), _CMP_LT_OQ), \
		 _mm512_set1_epi32((int)(g))),                                                   \
	 (least) = LESSER(s, least))
#include "bench/kmeans/tiles.h"
#undef TARGET
#undef WIDTH
#undef VECTORS
#undef ROWS

/* 16 registers: 12 scores. */
#define TARGET	TARGET_AVX2
#define WIDTH	32
#define VECTORS 3
#define ROWS	4

#define NAME(function) function##_double_avx2
#define REAL	       double
#define INT	       int64_t
#define GROUP	       8
#define SPLAT(address) (NAME(vector)) _mm256_set1_pd(*(address))
#define MINUS_PRODUCT(s, x, c) \
	(NAME(vector)) _mm256_fnmadd_pd((__m256d)(x), (__m256d)(c), (__m256d)(s))
#define ROOT(v)	      (NAME(vector)) _mm256_sqrt_pd((__m256d)(v))
#define LESSER(a, b)  (NAME(vector)) _mm256_min_pd((__m256d)(a), (__m256d)(b))
#define EQUAL(a, b)   _mm256_movemask_pd(_mm256_cmp_pd((__m256d)(a), (__m256d)(b), _CMP_EQ_OQ))
#define AT_MOST(a, b) _mm256_movemask_pd(_mm256_cmp_pd((__m256d)(a), (__m256d)(b), _CMP_LE_OQ))
#include "bench/kmeans/tiles.h"

#define NAME(function) function##_float_avx2
#define REAL	       float
#define INT	       int32_t
#define GROUP	       8
#define SPLAT(address) (NAME(vector)) _mm256_set1_ps(*(address))
#define MINUS_PRODUCT(s, x, c) \
	(NAME(vector)) _mm256_fnmadd_ps((__m256)(x), (__m256)(c), (__m256)(s))
#define ROOT(v)	      (NAME(vector)) _mm256_sqrt_ps((__m256)(v))
#define LESSER(a, b)  (NAME(vector)) _mm256_min_ps((__m256)(a), (__m256)(b))
#define EQUAL(a, b)   _mm256_movemask_ps(_mm256_cmp_ps((__m256)(a), (__m256)(b), _CMP_EQ_OQ))
#define AT_MOST(a, b) _mm256_movemask_ps(_mm256_cmp_ps((__m256)(a), (__m256)(b), _CMP_LE_OQ))
#include "bench/kmeans/tiles.h"
#undef TARGET
#undef WIDTH
#undef VECTORS
#undef ROWS
#undef IN_PLACE
#endif

/*
 * What every CPU of the architecture has; whether a product and a difference are rounded once is
 * then the architecture's choice.
 */
#ifdef __aarch64__
#define IN_PLACE(v) __asm__ volatile("" : "+w"(v))
#elif defined(__x86_64__)
#define IN_PLACE(v) __asm__ volatile("" : "+x"(v))
#else
#define IN_PLACE(v) __asm__ volatile("" : "+m"(v))
#endif
#define TARGET
#define WIDTH	16
#define VECTORS 2
#define ROWS	4

#define NAME(function) function##_double_baseline
#define REAL	       double
#define INT	       int64_t
#define GROUP	       4
#include "bench/kmeans/tiles.h"

#define NAME(function) function##_float_baseline
#define REAL	       float
#define INT	       int32_t
#define GROUP	       8
#include "bench/kmeans/tiles.h"

/* The widest first. */
static const struct {
	enum instruction_set needs;
	const struct tiles *of[2];
} all[] = {
#ifdef __x86_64__
	{ AVX512, { [DOUBLE] = &tiles_double_avx512, [FLOAT] = &tiles_float_avx512 } },
	{ AVX2, { [DOUBLE] = &tiles_double_avx2, [FLOAT] = &tiles_float_avx2 } },
#endif
	{ BASELINE, { [DOUBLE] = &tiles_double_baseline, [FLOAT] = &tiles_float_baseline } },
};

const struct tiles *tiles_usable(unsigned i, enum real real)
{
	for (unsigned set = 0; set < sizeof(all) / sizeof(*all); set++)
		if (instruction_set_usable(all[set].needs) && i-- == 0)
			return all[set].of[real];
	return NULL;
}

/* What is at the start of a worker's memory. */
struct brute {
	const struct tiles *tiles;
	struct packed centres;
	uint32_t *label;
	char *block;
};

const struct tiles *tiles_choose(enum real real)
{
	return tiles_usable(0, real);
}

size_t packed_bytes(unsigned d, unsigned k, enum real real)
{
	const size_t group = tiles_choose(real)->group, all = (k + group - 1) / group * group;

	return apart(all * real_bytes(real)) + apart(all * d * real_bytes(real));
}

struct packed packed_at(void *memory, unsigned d, unsigned k, enum real real)
{
	const unsigned group = tiles_choose(real)->group, groups = (k + group - 1) / group;
	const size_t squares = apart((size_t)groups * group * real_bytes(real));

	return (struct packed){ d, k, groups, memory ? (char *)memory + squares : NULL, memory };
}

static bool fits(const struct problem *p)
{
	(void)p;
	return true;
}

static size_t block_bytes(unsigned d, enum real real)
{
	return (size_t)tiles_choose(real)->block * d * real_bytes(real);
}

static size_t blocks(size_t n, enum real real)
{
	return (n + tiles_choose(real)->block - 1) / tiles_choose(real)->block;
}

static size_t bytes(size_t n, unsigned d, unsigned k, enum real real)
{
	return apart(sizeof(struct brute)) + packed_bytes(d, k, real) +
	       apart(n * sizeof(uint32_t)) + blocks(n, real) * block_bytes(d, real);
}

static void build(struct share *s, const struct stage *g)
{
	struct brute *b = s->memory;
	char *memory = (char *)s->memory + apart(sizeof(*b));

	b->tiles = tiles_choose(g->real);
	b->centres = packed_at(memory, g->d, g->k, g->real);
	memory += packed_bytes(g->d, g->k, g->real);
	b->label = (uint32_t *)memory;
	memory += apart(s->n * sizeof(uint32_t));
	b->block = memory;
	labels_before(b->label, s);
}

void brute_force(const struct tiles *t, const struct packed *centres, char *blocks, uint32_t *label,
		 struct share *s, const struct stage *g, size_t first, size_t last)
{
	const size_t row = g->d * real_bytes(g->real);
	uint32_t now[MOST_BLOCK];

	*s->change.computed += (int64_t)((last - first) * g->k);
	for (; first < last; first += t->block) {
		const size_t n = last - first < t->block ? last - first : t->block;
		char *block = blocks + first * row;

		/* not before: now this waits for memory while that computes */
		if (g->iteration == s->built)
			t->transpose(block, (const char *)s->x + first * row, g->origin, n, g->d);
		t->nearest(block, centres, now);
		t->move(&s->change, block, g->scale, n, label + first, now);
	}
}

static void assign(struct share *s, const struct stage *g)
{
	struct brute *b = s->memory;

	b->tiles->pack(&b->centres, g->centre, g->half);
	brute_force(b->tiles, &b->centres, b->block, b->label, s, g, 0, s->n);
}

static void labels(struct share *s, const struct stage *g)
{
	const struct brute *b = s->memory;

	(void)g;
	memcpy(s->label, b->label, s->n * sizeof(*s->label));
}

const struct method brute = { "brute", fits, NULL, bytes, build, assign, labels };
