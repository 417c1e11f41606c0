/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <string.h>

#include "bench/search/tree.h"
#include "kit/opaque.h"
#include "kit/unroll.h"

/* Lines of the top, which selects one of TOP_LINES * FAN lines of a layer. */
#define TOP_LINES 16

/*
 * Lines of layers with more bytes are prefetched; smaller layers stay in a core's caches, whose
 * latency out-of-order execution hides.
 */
#define NEAR ((size_t)64 << 10)

/* Batches overlap in larger arrays. In smaller ones caches deliver the bottom's lines in time. */
#define OVERLAP ((size_t)8 << 20)

static size_t fan(unsigned width)
{
	return TREE_LINE / width;
}

static size_t lines_for(size_t slots, unsigned width)
{
	return slots ? (slots + fan(width) - 1) / fan(width) : 1;
}

/* Lines of each layer, the bottom's first. Returns how many layers are above it. */
static unsigned count_lines(size_t n, unsigned width, size_t *lines)
{
	unsigned layers = 0;

	lines[0] = lines_for(n, width);
	for (; lines[layers] > 1; layers++)
		lines[layers + 1] = lines_for(lines[layers], width);
	return layers;
}

size_t tree_padded(size_t n, unsigned width)
{
	return lines_for(n, width) * fan(width);
}

size_t tree_bytes(size_t n, unsigned width)
{
	size_t lines[MOST_LAYERS + 1], all = TOP_LINES;

	for (unsigned l = count_lines(n, width, lines); l > 0; l--)
		all += lines[l];
	return all * TREE_LINE;
}

/* The last key of a line; of the last line, the largest possible key. */
static uint64_t last_key(const void *layer, size_t lines, size_t line, unsigned width)
{
	const size_t slot = (line + 1) * fan(width) - 1;

	if (line + 1 >= lines)
		return UINT64_MAX;
	return width == sizeof(uint32_t) ? ((const uint32_t *)layer)[slot]
					 : ((const uint64_t *)layer)[slot];
}

static void put(void *to, size_t slot, uint64_t key, unsigned width)
{
	if (width == sizeof(uint32_t))
		((uint32_t *)to)[slot] = (uint32_t)key;
	else
		((uint64_t *)to)[slot] = key;
}

/*
 * Eytzinger order: separator i of a level is the middle of interval i, when 2^depth lines are cut
 * into 2^level intervals.
 */
static void lay_top(const struct tree *t, void *top, size_t lines)
{
	put(top, 0, UINT64_MAX, t->width);
	for (unsigned level = 0; level < t->depth; level++)
		for (size_t i = 0; i < (size_t)1 << level; i++)
			put(top, ((size_t)1 << level) + i,
			    last_key(t->layer[t->first], lines,
				     ((2 * i + 1) << (t->depth - 1 - level)) - 1, t->width),
			    t->width);
}

void tree_build(struct tree *t, const void *sorted, size_t n, unsigned width, void *memory)
{
	size_t lines[MOST_LAYERS + 1];
	const void *below = sorted;
	char *at = (char *)memory + (size_t)TOP_LINES * TREE_LINE;
	const unsigned layers = count_lines(n, width, lines);

	*t = (struct tree){
		.n = n, .width = width, .layers = layers, .far = layers + 1, .top = memory
	};
	t->layer[layers] = sorted;
	for (unsigned up = 1; up <= layers; up++) {
		for (size_t slot = 0; slot < lines[up] * fan(width); slot++)
			put(at, slot, last_key(below, lines[up - 1], slot, width), width);
		below = t->layer[layers - up] = at;
		at += lines[up] * TREE_LINE;
	}
	for (unsigned l = 0; l <= layers; l++) {
		if (lines[layers - l] <= TOP_LINES * fan(width))
			t->first = l;
		if (t->far > layers && lines[layers - l] * TREE_LINE > NEAR)
			t->far = l;
	}
	t->overlap = lines[0] * TREE_LINE > OVERLAP;
	while ((size_t)1 << t->depth < lines[layers - t->first])
		t->depth++;
	lay_top(t, memory, lines[layers - t->first]);
}

/*
 * GROUP: keys that descend together, without a branch. ENTERING: vectors of keys that go through
 * the top together. BATCH: keys that pass a layer before the next; enough for a line to arrive
 * before it is used.
 */
enum { GROUP = 16, ENTERING = 4, BATCH = 128 };

#ifdef __x86_64__
#include <immintrin.h>

#define TARGET TARGET_AVX512

/* In assembly, because compilers store it by way of a general register. */
#define STORE_MASK(to, mask) __asm__("kmovw %1, %0" : "=m"(to) : "k"((__mmask16)(mask)))

TARGET static inline __mmask16 mask_u32_avx512(const uint32_t *line, uint32_t key)
{
	return _mm512_cmplt_epu32_mask(_mm512_load_si512(line), _mm512_set1_epi32((int)key));
}

TARGET static inline unsigned rank_u32_avx512(const uint32_t *line, uint32_t key)
{
	unsigned less = mask_u32_avx512(line, key);

	OPAQUE(less); /* else compilers mask the upper 16 bits first */
	return (unsigned)__builtin_popcount(less);
}

TARGET static inline __mmask16 mask_u64_avx512(const uint64_t *line, uint64_t key)
{
	return _mm512_cmplt_epu64_mask(_mm512_load_si512(line), _mm512_set1_epi64((long long)key));
}

TARGET static inline unsigned rank_u64_avx512(const uint64_t *line, uint64_t key)
{
	unsigned less = mask_u64_avx512(line, key);

	OPAQUE(less);
	return (unsigned)__builtin_popcount(less);
}

#define KEY	       uint32_t
#define NAME(function) function##_u32_avx512
#define RANK	       rank_u32_avx512
#define FIRST(tree)    (tree)->first
#define OP(name)       _mm512_##name##_epi32
#define LESS(a, b)     _mm512_cmplt_epu32_mask(a, b)
#define MASK	       mask_u32_avx512
#define HAS(a, bits)   _mm512_test_epi32_mask(a, _mm512_set1_epi32(bits))
#define STORE(to, v)   _mm512_storeu_si512(to, v)
#include "bench/search/lines.h"

#define KEY	       uint64_t
#define NAME(function) function##_u64_avx512
#define RANK	       rank_u64_avx512
#define FIRST(tree)    (tree)->first
#define OP(name)       _mm512_##name##_epi64
#define LESS(a, b)     _mm512_cmplt_epu64_mask(a, b)
#define MASK	       mask_u64_avx512
#define HAS(a, bits)   _mm512_test_epi64_mask(a, _mm512_set1_epi64(bits))
#define STORE(to, v)   _mm256_storeu_si256((__m256i *)(to), _mm512_cvtepi64_epi32(v))
#include "bench/search/lines.h"
#undef TARGET

#define TARGET TARGET_AVX2

/*
 * AVX2 can't compare unsigned integers: elements that equal the maximum of element and key are not
 * less than the key.
 */
TARGET static inline unsigned rank_u32_avx2(const void *line, uint32_t key)
{
	const __m256i *v = line, q = _mm256_set1_epi32((int)key);
	const __m256i low = _mm256_cmpeq_epi32(_mm256_max_epu32(v[0], q), v[0]),
		      high = _mm256_cmpeq_epi32(_mm256_max_epu32(v[1], q), v[1]);

	return 16 - (unsigned)__builtin_popcount(
			    (unsigned)_mm256_movemask_epi8(_mm256_packs_epi32(low, high))) /
			    2;
}

TARGET static inline unsigned rank_u64_avx2(const void *line, uint64_t key)
{
	const __m256i *v = line, sign = _mm256_set1_epi64x(INT64_MIN),
		      q = _mm256_set1_epi64x((long long)key) ^ sign;
	const __m256i low = _mm256_cmpgt_epi64(q, v[0] ^ sign),
		      high = _mm256_cmpgt_epi64(q, v[1] ^ sign);

	return (unsigned)__builtin_popcount(
		       (unsigned)_mm256_movemask_epi8(_mm256_packs_epi32(low, high))) /
	       4;
}

#define KEY	       uint32_t
#define NAME(function) function##_u32_avx2
#define RANK	       rank_u32_avx2
#define FIRST(tree)    0
#include "bench/search/lines.h"

#define KEY	       uint64_t
#define NAME(function) function##_u64_avx2
#define RANK	       rank_u64_avx2
#define FIRST(tree)    0
#include "bench/search/lines.h"
#undef TARGET
#endif

#define TARGET

#define KEY	       uint32_t
#define NAME(function) function##_u32_baseline
#define FIRST(tree)    0
#include "bench/search/lines.h"

#define KEY	       uint64_t
#define NAME(function) function##_u64_baseline
#define FIRST(tree)    0
#include "bench/search/lines.h"

tree_search *tree_searcher(unsigned width, enum isa set)
{
	static tree_search *const all[ISAS][2] = {
		[ISA_BASELINE] = { search_u32_baseline, search_u64_baseline },
#ifdef __x86_64__
		[ISA_AVX2] = { search_u32_avx2, search_u64_avx2 },
		[ISA_AVX512] = { search_u32_avx512, search_u64_avx512 },
#endif
	};

	return all[set][width == sizeof(uint64_t)];
}
