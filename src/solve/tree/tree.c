/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <string.h>

#include "solve/tree/tree.h"
#include "kit/opaque.h"
#include "kit/unroll.h"

enum { NARROW = TREE_LINE / sizeof(uint16_t) }; /* narrow separators of a line */

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

static size_t lines_for(size_t all, size_t slots)
{
	return all ? (all + slots - 1) / slots : 1;
}

/*
 * Lines of each layer, the bottom's first, with `slots` in a line above it. Returns the number of
 * layers above it.
 */
static unsigned count_lines(size_t n, unsigned width, size_t slots, size_t *lines)
{
	unsigned layers = 0;

	lines[0] = lines_for(n, fan(width));
	for (; lines[layers] > 1; layers++)
		lines[layers + 1] = lines_for(lines[layers], slots);
	return layers;
}

size_t tree_padded(size_t n, unsigned width)
{
	return lines_for(n, fan(width)) * fan(width);
}

size_t tree_bytes(size_t n, unsigned width)
{
	size_t lines[TREE_MOST_LAYERS + 1], all = TOP_LINES;

	for (unsigned l = count_lines(n, width, fan(width), lines); l > 0; l--)
		all += lines[l];
	return all * TREE_LINE;
}

static uint64_t get(const void *from, size_t slot, unsigned width)
{
	return width == sizeof(uint32_t) ? ((const uint32_t *)from)[slot]
					 : ((const uint64_t *)from)[slot];
}

static void put(void *to, size_t slot, uint64_t key, unsigned width)
{
	if (width == sizeof(uint16_t))
		((uint16_t *)to)[slot] = (uint16_t)key;
	else if (width == sizeof(uint32_t))
		((uint32_t *)to)[slot] = (uint32_t)key;
	else
		((uint64_t *)to)[slot] = key;
}

/* Rows of lines over a sorted array while they are built. */
struct rows {
	struct tree *tree;
	size_t lines[TREE_MOST_LAYERS + 1]; /* the bottom's first */
	size_t under[TREE_MOST_LAYERS + 1]; /* elements under a line, by layer */
	uint64_t beyond;		    /* the last key of the last lines */
};

/* The last key under a line; `up`: layers above the bottom. */
static uint64_t last_key(const struct rows *r, unsigned up, size_t line)
{
	const struct tree *t = r->tree;

	return line + 1 < r->lines[up]
		       ? get(t->layer[t->layers], (line + 1) * r->under[up] - 1, t->width)
		       : r->beyond;
}

/*
 * Eytzinger order: separator i of a level is the middle of interval i, when 2^depth lines are cut
 * into 2^level intervals.
 */
static void lay_top(const struct rows *r, void *top)
{
	const struct tree *t = r->tree;

	put(top, 0, UINT64_MAX, t->width);
	for (unsigned level = 0; level < t->depth; level++)
		for (size_t i = 0; i < (size_t)1 << level; i++)
			put(top, ((size_t)1 << level) + i,
			    last_key(r, t->layers - t->first,
				     ((2 * i + 1) << (t->depth - 1 - level)) - 1),
			    t->width);
}

/*
 * The least shift by which the keys of a line of this layer, from the previous line's last key on,
 * differ by at most INT16_MAX.
 */
static unsigned char shift_for(const struct rows *r, unsigned up)
{
	uint64_t before = r->tree->lowest;
	unsigned char shift = 0;

	for (size_t line = 0; line < r->lines[up]; line++) {
		const uint64_t last = last_key(r, up, line);

		while ((last >> shift) - (before >> shift) > INT16_MAX)
			shift++;
		before = last;
	}
	return shift;
}

/*
 * Fills a layer. False: two narrow separators would be equal. The last line's separator may equal
 * the previous one, as the line may be short.
 */
static bool lay_row(const struct rows *r, unsigned up, void *row)
{
	const struct tree *t = r->tree;
	const unsigned width = t->narrow ? sizeof(uint16_t) : t->width,
		       shift = t->narrow ? t->shift[t->layers - up] : 0;
	const size_t slots = r->lines[up] * (TREE_LINE / width);
	uint64_t before = 0;

	for (size_t slot = 0; slot < slots; slot++) {
		const uint64_t separator = last_key(r, up - 1, slot) >> shift;

		if (t->narrow && slot && slot + 1 < r->lines[up - 1] && separator == before)
			return false;
		put(row, slot, separator, width);
		before = separator;
	}
	return true;
}

/* Makes the top and the layers. False: narrow separators cannot distinguish lines. */
static bool build(struct tree *t, const void *sorted, void *memory, bool narrow)
{
	struct rows r = { .tree = t, .beyond = narrow ? t->highest : UINT64_MAX };
	const size_t slots = narrow ? NARROW : fan(t->width);
	char *at = (char *)memory + (size_t)TOP_LINES * TREE_LINE;

	t->narrow = narrow;
	t->layers = count_lines(t->n, t->width, slots, r.lines);
	t->far = t->layers + 1;
	t->layer[t->layers] = sorted;
	r.under[0] = fan(t->width);
	for (unsigned up = 1; up <= t->layers; up++) {
		r.under[up] = r.under[up - 1] * slots;
		if (narrow)
			t->shift[t->layers - up] = shift_for(&r, up);
		if (!lay_row(&r, up, at))
			return false;
		t->layer[t->layers - up] = at;
		at += r.lines[up] * TREE_LINE;
	}
	for (unsigned l = 0; l <= t->layers; l++) {
		if (r.lines[t->layers - l] <= TOP_LINES * fan(t->width))
			t->first = l;
		if (t->far > t->layers && r.lines[t->layers - l] * TREE_LINE > NEAR)
			t->far = l;
	}
	while ((size_t)1 << t->depth < r.lines[t->layers - t->first])
		t->depth++;
	t->first_slots = t->first < t->layers ? slots : fan(t->width);
	t->bytes = (size_t)(at - (char *)memory);
	r.beyond = UINT64_MAX; /* the top compares keys of any range */
	lay_top(&r, memory);
	return true;
}

void tree_build(struct tree *t, const void *sorted, size_t n, unsigned width, void *memory)
{
	const size_t lines = lines_for(n, fan(width)), above = lines_for(lines, fan(width));

	*t = (struct tree){
		.n = n,
		.width = width,
		.overlap = lines * TREE_LINE > OVERLAP,
		.top = memory,
		.lowest = get(sorted, 0, width),
		.highest = get(sorted, n ? n - 1 : 0, width),
	};
	if (above * TREE_LINE <= NEAR || !build(t, sorted, memory, true))
		build(t, sorted, memory, false);
}

/*
 * GROUP: keys that descend together, without a branch. ENTERING: vectors of keys that go through
 * the top together. BATCH: keys that pass a layer before the next one; enough for a line to arrive
 * before it is used.
 */
enum { GROUP = 16, ENTERING = 4, BATCH = 128 };

#ifdef __x86_64__
#include <immintrin.h>

#define TARGET TARGET_AVX512

/* In assembly, because compilers store it by way of a general register. */
#define STORE_MASK(to, mask) __asm__("kmovd %1, %0" : "=m"(to) : "k"((__mmask32)(mask)))

TARGET static inline __mmask32 mask_narrow_avx512(const uint16_t *line, uint16_t bits)
{
	return _mm512_movepi16_mask(
		_mm512_sub_epi16(_mm512_load_si512(line), _mm512_set1_epi16((short)bits)));
}

TARGET static inline unsigned rank_narrow_avx512(const uint16_t *line, uint16_t bits)
{
	unsigned less = mask_narrow_avx512(line, bits);

	OPAQUE(less);
	return (unsigned)__builtin_popcount(less);
}

TARGET static inline __mmask16 mask_u32_avx512(const uint32_t *line, uint32_t key)
{
	return _mm512_cmplt_epu32_mask(_mm512_load_si512(line), _mm512_set1_epi32((int)key));
}

TARGET static inline unsigned rank_u32_avx512(const uint32_t *line, uint32_t key)
{
	unsigned less = mask_u32_avx512(line, key);

	OPAQUE(less); /* otherwise compilers mask the upper 16 bits first */
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

#define KEY		    uint32_t
#define NAME(function)	    function##_u32_avx512
#define RANK		    rank_u32_avx512
#define RANK_NARROW	    rank_narrow_avx512
#define FIRST(tree)	    (tree)->first
#define OP(name)	    _mm512_##name##_epi32
#define ALL(key)	    _mm512_set1_epi32((int)(key))
#define LESS(a, b)	    _mm512_cmplt_epu32_mask(a, b)
#define MASK		    mask_u32_avx512
#define MASK_NARROW	    mask_narrow_avx512
#define HAS(a, bits)	    _mm512_test_epi32_mask(a, _mm512_set1_epi32(bits))
#define STORE(to, v)	    _mm512_storeu_si512(to, v)
#define STORE_NARROW(to, v) _mm256_storeu_si256((__m256i *)(to), _mm512_cvtepi32_epi16(v))
#include "solve/tree/lines.h"

#define KEY		    uint64_t
#define NAME(function)	    function##_u64_avx512
#define RANK		    rank_u64_avx512
#define RANK_NARROW	    rank_narrow_avx512
#define FIRST(tree)	    (tree)->first
#define OP(name)	    _mm512_##name##_epi64
#define ALL(key)	    _mm512_set1_epi64((long long)(key))
#define LESS(a, b)	    _mm512_cmplt_epu64_mask(a, b)
#define MASK		    mask_u64_avx512
#define MASK_NARROW	    mask_narrow_avx512
#define HAS(a, bits)	    _mm512_test_epi64_mask(a, _mm512_set1_epi64(bits))
#define STORE(to, v)	    _mm256_storeu_si256((__m256i *)(to), _mm512_cvtepi64_epi32(v))
#define STORE_NARROW(to, v) _mm_storeu_si128((__m128i *)(to), _mm512_cvtepi64_epi16(v))
#include "solve/tree/lines.h"
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

TARGET static inline unsigned rank_narrow_avx2(const void *line, uint16_t bits)
{
	const __m256i *v = line, q = _mm256_set1_epi16((short)bits);
	const __m256i signs =
		_mm256_packs_epi16(_mm256_sub_epi16(v[0], q), _mm256_sub_epi16(v[1], q));

	return (unsigned)__builtin_popcount((unsigned)_mm256_movemask_epi8(signs));
}

#define KEY	       uint32_t
#define NAME(function) function##_u32_avx2
#define RANK	       rank_u32_avx2
#define RANK_NARROW    rank_narrow_avx2
#define FIRST(tree)    0
#include "solve/tree/lines.h"

#define KEY	       uint64_t
#define NAME(function) function##_u64_avx2
#define RANK	       rank_u64_avx2
#define RANK_NARROW    rank_narrow_avx2
#define FIRST(tree)    0
#include "solve/tree/lines.h"
#undef TARGET
#endif

/* A mask's lanes are -1. NEON adds up all of a vector by one instruction, generic vectors by 7. */
#ifdef __aarch64__
#include <arm_neon.h>

static inline unsigned rank_u32_neon(const uint32_t *line, uint32_t key)
{
	const uint32x4_t q = vdupq_n_u32(key);
	uint32x4_t less = vcltq_u32(vld1q_u32(line), q);

	UNROLL for (unsigned i = 4; i < TREE_LINE / sizeof(*line); i += 4) less =
		vaddq_u32(less, vcltq_u32(vld1q_u32(line + i), q));
	return -vaddvq_u32(less);
}

static inline unsigned rank_u64_neon(const uint64_t *line, uint64_t key)
{
	const uint64x2_t q = vdupq_n_u64(key);
	uint64x2_t less = vcltq_u64(vld1q_u64(line), q);

	UNROLL for (unsigned i = 2; i < TREE_LINE / sizeof(*line); i += 2) less =
		vaddq_u64(less, vcltq_u64(vld1q_u64(line + i), q));
	return -(unsigned)vaddvq_u64(less);
}

/* Compares by the sign of a difference, as with AVX2. */
static inline unsigned rank_narrow_neon(const uint16_t *line, uint16_t bits)
{
	const uint16x8_t q = vdupq_n_u16(bits);
	uint16x8_t less = vdupq_n_u16(0);

	UNROLL for (unsigned i = 0; i < TREE_LINE / sizeof(*line); i += 8) less = vaddq_u16(
		less, vcltzq_s16(vreinterpretq_s16_u16(vsubq_u16(vld1q_u16(line + i), q))));
	return (uint16_t)-vaddvq_u16(less);
}
#endif

#define TARGET

#define KEY	       uint32_t
#define NAME(function) function##_u32_baseline
#define FIRST(tree)    0
#ifdef __aarch64__
#define RANK	    rank_u32_neon
#define RANK_NARROW rank_narrow_neon
#endif
#include "solve/tree/lines.h"

#define KEY	       uint64_t
#define NAME(function) function##_u64_baseline
#define FIRST(tree)    0
#ifdef __aarch64__
#define RANK	    rank_u64_neon
#define RANK_NARROW rank_narrow_neon
#endif
#include "solve/tree/lines.h"

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
