/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search in a tree of lines: a template that tree.c includes once for each instruction set and
 * width of keys, with
 *
 *	NAME(function)     the function's name
 *	TARGET             the attribute that allows the instructions; empty for those that are
 *                         always there
 *	KEY                the type of a key
 *	RANK(line, key)    how many keys of a line are less than `key`; optional
 *	RANK_NARROW(line, bits)
 *	                   how many narrow separators of a line are less than `bits`; optional
 *	FIRST(tree)        the layer in which searches begin
 * and, where searches begin in the top, for vectors as long as a line:
 *	OP(name)           the intrinsic for the type
 *	ALL(key)           a vector of one key
 *	LESS(a, b)         a mask of the lanes in which a < b
 *	MASK(line, key), MASK_NARROW(line, bits)
 *	                   a mask of those that RANK and RANK_NARROW count
 *	HAS(a, bits)       a mask of the lanes in which a has any of the bits
 *	STORE(to, v), STORE_NARROW(to, v)
 *	                   stores the lanes as uint32_t, as uint16_t
 */
#define FAN    (TREE_LINE / sizeof(KEY))
#define LEVELS (unsigned)__builtin_ctzll(TOP_LINES *FAN)

#ifndef RANK
#define RANK NAME(rank)
typedef KEY NAME(vector) __attribute__((vector_size(16), may_alias));

TARGET static inline unsigned NAME(rank)(const KEY *line, KEY key)
{
	const NAME(vector) *v = (const NAME(vector) *)line, keys = (NAME(vector)){ 0 } + key;
	NAME(vector) less = { 0 };
	KEY sum = 0;

	UNROLL for (unsigned i = 0; i < TREE_LINE / sizeof(*v); i++) less -=
		(NAME(vector))(v[i] < keys);
	UNROLL for (unsigned lane = 0; lane < sizeof(*v) / sizeof(KEY); lane++) sum += less[lane];
	return (unsigned)sum;
}
#endif

#ifndef RANK_NARROW
#define RANK_NARROW NAME(rank_narrow)
typedef uint16_t NAME(shorts) __attribute__((vector_size(16), may_alias));
typedef int16_t NAME(signs) __attribute__((vector_size(16)));

TARGET static inline unsigned NAME(rank_narrow)(const uint16_t *line, uint16_t bits)
{
	const NAME(shorts) *v = (const NAME(shorts) *)line, keys = (NAME(shorts)){ 0 } + bits;
	NAME(signs) less = { 0 };
	uint64_t half[2];

	UNROLL for (unsigned i = 0; i < TREE_LINE / sizeof(*v); i++) less -=
		(NAME(signs))(v[i] - keys) < 0;
	/* four lanes in each half; the product adds them up in its upper 16 bits */
	memcpy(half, &less, sizeof(less));
	return (unsigned)((half[0] + half[1]) * UINT64_C(0x0001000100010001) >> 48);
}
#endif

#ifdef OP
/*
 * Returns, for each lane, the separator of node k, which is in a level of `nodes` nodes. A
 * permutation indexes one or two lines, and ignores the higher bits of k.
 */
TARGET __attribute__((always_inline)) static inline __m512i
NAME(look_up)(const __m512i *line, __m512i k, const unsigned nodes)
{
#define TWO(i)		   OP(permutex2var)(line[i], k, line[(i) + 1])
#define EITHER(a, bits, b) OP(mask_mov)(a, HAS(k, bits), b)
	switch (nodes / FAN) {
	case 0:
	case 1:
		return OP(permutexvar)(k, line[nodes / FAN]);
	case 2:
		return TWO(2);
	case 4:
		return EITHER(TWO(4), 2 * FAN, TWO(6));
	default:
		return EITHER(EITHER(TWO(8), 2 * FAN, TWO(10)), 4 * FAN,
			      EITHER(TWO(12), 2 * FAN, TWO(14)));
	}
#undef TWO
#undef EITHER
}
#endif

/*
 * Finds the lines at which keys enter the layers: `at` gets their first slots. In the top each key,
 * in its own lane, goes from node k to 2k or 2k + 1. Several vectors of keys take each level
 * together, since a level has to wait for the one before.
 */
TARGET __attribute__((always_inline)) static inline void
NAME(enter)(const struct tree *t, const KEY *keys, const unsigned vectors, uint32_t *at)
{
#ifdef OP
	const __m512i one = OP(set1)(1);
	const __m128i to_slots = _mm_cvtsi32_si128(__builtin_ctz(t->first_slots));
	__m512i key[ENTERING], k[ENTERING];

	UNROLL for (unsigned v = 0; v < vectors; v++)
	{
		key[v] = _mm512_loadu_si512(keys + v * FAN);
		k[v] = one;
	}
	UNROLL for (unsigned level = 0; level < LEVELS; level++)
	{
		if (level == t->depth)
			break;
		UNROLL for (unsigned v = 0; v < vectors; v++)
		{
			const __mmask16 right =
				LESS(NAME(look_up)(t->top, k[v], 1u << level), key[v]);

			k[v] = OP(add)(k[v], k[v]);
			k[v] = OP(mask_add)(k[v], right, k[v], one);
		}
	}
	UNROLL for (unsigned v = 0; v < vectors; v++)
		STORE(at + v * FAN, OP(sll)(OP(sub)(k[v], OP(set1)(1 << t->depth)), to_slots));
#else
	(void)t, (void)keys;
	memset(at, 0, vectors * FAN * sizeof(*at));
#endif
}

/* How many slots of a line, given by its first, are less than key i; see compared() for `keys`. */
TARGET UNROLL_INLINE unsigned NAME(rank_in)(const void *layer, uint32_t from, const void *keys,
					    size_t i, const bool narrow)
{
	return narrow ? RANK_NARROW((const uint16_t *)layer + from, ((const uint16_t *)keys)[i])
		      : RANK((const KEY *)layer + from, ((const KEY *)keys)[i]);
}

/*
 * Takes key i from a line, given by its first slot, to a line of the layer below, which has `times`
 * slots. OPAQUE keeps compilers from vectorising over keys.
 */
TARGET UNROLL_INLINE uint32_t NAME(descend)(const void *layer, uint32_t from, const void *keys,
					    size_t i, uint32_t times, const bool narrow)
{
	uint32_t slot = (from + NAME(rank_in)(layer, from, keys, i, narrow)) * times;

	OPAQUE(slot);
	return slot;
}

/*
 * Takes the group that begins with key i through a layer, and prefetches its lines in the layer
 * below.
 */
TARGET UNROLL_INLINE void NAME(pass)(const void *layer, const void *below, uint32_t times,
				     const void *keys, size_t i, uint32_t *at, const bool narrow)
{
	UNROLL for (unsigned j = 0; j < GROUP; j++)
	{
		at[i + j] = NAME(descend)(layer, at[i + j], keys, i + j, times, narrow);
		__builtin_prefetch((const char *)below + (size_t)at[i + j] * (TREE_LINE / times));
	}
}

/* Prefetches keys from..to-1, the next batch's: hardware prefetchers stop at the end of a page. */
TARGET static inline void NAME(fetch_keys)(const KEY *keys, size_t from, size_t to)
{
	for (size_t i = from; i < to; i += FAN)
		__builtin_prefetch(keys + i);
}

/* Finds the lines at which the keys of a batch enter the layers. */
TARGET __attribute__((always_inline)) static inline void
NAME(enter_all)(const struct tree *t, const KEY *keys, size_t count, uint32_t *at)
{
	size_t i = 0;

	for (; i + ENTERING * FAN <= count; i += ENTERING * FAN)
		NAME(enter)(t, keys + i, ENTERING, at + i);
	for (; i < count; i += GROUP)
		NAME(enter)(t, keys + i, GROUP / FAN, at + i);
}

/*
 * Takes all groups of a batch through a layer, without a prefetch. At the bottom `times` is 1, the
 * results are indices, and it returns the OR of all ranks. Masks are stored first, and then counted
 * for a vector of keys at once.
 */
TARGET UNROLL_INLINE unsigned NAME(pass_only)(const void *layer, uint32_t times, const void *keys,
					      size_t count, const uint32_t *from, uint32_t *to,
					      const bool narrow)
{
#ifdef OP
	__m512i ranks = _mm512_setzero_si512();
	uint32_t less[BATCH] __attribute__((aligned(TREE_LINE)));

	for (size_t i = 0; i < count; i += GROUP)
		UNROLL for (unsigned j = 0; j < GROUP; j++) STORE_MASK(
			less[i + j], narrow ? MASK_NARROW((const uint16_t *)layer + from[i + j],
							  ((const uint16_t *)keys)[i + j])
					    : MASK((const KEY *)layer + from[i + j],
						   ((const KEY *)keys)[i + j]));
	for (size_t i = 0; i < count; i += GROUP) {
		const __m512i zeros = _mm512_lzcnt_epi32(_mm512_load_si512(less + i)),
			      rank = _mm512_sub_epi32(_mm512_set1_epi32(32), zeros),
			      slot = _mm512_add_epi32(_mm512_load_si512(from + i), rank);

		ranks = _mm512_or_si512(ranks, rank);
		_mm512_storeu_si512(to + i,
				    _mm512_mullo_epi32(slot, _mm512_set1_epi32((int)times)));
	}
	return (unsigned)_mm512_reduce_or_epi32(ranks);
#else
	unsigned ranks = 0;

	for (size_t i = 0; i < count; i += GROUP)
		UNROLL for (unsigned j = 0; j < GROUP; j++)
		{
			const uint32_t slot = from[i + j];

			to[i + j] = NAME(descend)(layer, slot, keys, i + j, times, narrow);
			ranks |= to[i + j] - slot;
		}
	return ranks;
#endif
}

/*
 * The values to compare with a layer's separators: the keys, or the layer's 16 bits of each, stored
 * in `bits`.
 */
TARGET UNROLL_INLINE const void *NAME(compared)(const struct tree *t, unsigned layer,
						const KEY *keys, size_t count, uint16_t *bits,
						const bool narrow)
{
	if (!narrow)
		return keys;
#ifdef OP
	const __m512i low = ALL(t->lowest), high = ALL(t->highest);
	const __m128i shift = _mm_cvtsi32_si128(t->shift[layer]);

	for (size_t i = 0; i < count; i += FAN) {
		__m512i key = _mm512_loadu_si512(keys + i);

		key = OP(mask_mov)(key, LESS(key, low), low);
		key = OP(mask_mov)(key, LESS(high, key), high);
		STORE_NARROW(bits + i, OP(srl)(key, shift));
	}
#else
	const KEY low = (KEY)t->lowest, high = (KEY)t->highest;

	for (size_t i = 0; i < count; i += GROUP)
		UNROLL for (unsigned j = 0; j < GROUP; j++)
		{
			const KEY key = keys[i + j] < low ? low : keys[i + j];

			bits[i + j] = (uint16_t)((key < high ? key : high) >> t->shift[layer]);
		}
#endif
	return bits;
}

/* Takes all groups of a batch through a layer; lines of the next layer have `times` slots. */
TARGET UNROLL_INLINE void NAME(pass_layer)(const struct tree *t, unsigned layer, uint32_t times,
					   const KEY *keys, size_t count, uint32_t *at,
					   const bool narrow)
{
	uint16_t bits[BATCH];
	const void *by = NAME(compared)(t, layer, keys, count, bits, narrow);

	if (layer + 1 < t->far) {
		NAME(pass_only)(t->layer[layer], times, by, count, at, at, narrow);
		return;
	}
	for (size_t i = 0; i < count; i += GROUP)
		NAME(pass)(t->layer[layer], t->layer[layer + 1], times, by, i, at, narrow);
}

/* Takes all groups of a batch in turn through the layers before the one above the bottom. */
TARGET UNROLL_INLINE void NAME(pass_upper)(const struct tree *t, const KEY *keys, size_t count,
					   uint32_t *at, const bool narrow)
{
	for (unsigned l = FIRST(t); l + 1 < t->layers; l++)
		NAME(pass_layer)(t, l, narrow ? NARROW : FAN, keys, count, at, narrow);
}

/* Continues after a line whose keys are all less than the key, in doubling steps. */
TARGET static __attribute__((noinline)) uint32_t NAME(go_on)(const struct tree *t, uint32_t answer,
							     KEY key)
{
	const KEY *sorted = t->layer[t->layers];
	size_t from = answer, step = 1, to;

	for (; from + step < t->n && sorted[from + step - 1] < key; step *= 2)
		from += step;
	for (to = from + step < t->n ? from + step : t->n; from < to;) {
		const size_t middle = from + (to - from) / 2;

		if (sorted[middle] < key)
			from = middle + 1;
		else
			to = middle;
	}
	return (uint32_t)from;
}

/*
 * Looks up a batch in the bottom. With narrow separators a search may end one or more lines too
 * early.
 */
TARGET UNROLL_INLINE void NAME(pass_bottom)(const struct tree *t, const KEY *keys, size_t count,
					    const uint32_t *at, uint32_t *answers,
					    const bool narrow)
{
	const unsigned ranks =
		NAME(pass_only)(t->layer[t->layers], 1, keys, count, at, answers, false);

	if (!narrow || !(ranks & FAN))
		return;
	for (size_t i = 0; i < count; i++)
		if (answers[i] - at[i] == FAN)
			answers[i] = NAME(go_on)(t, answers[i], keys[i]);
}

/* Looks up whole groups of keys, `most` in a batch. */
TARGET UNROLL_INLINE void NAME(search_in_turn)(const struct tree *t, const KEY *keys, size_t count,
					       size_t most, uint32_t *answers, const bool narrow)
{
	uint32_t at[BATCH] __attribute__((aligned(TREE_LINE)));

	for (size_t i = 0, n; i < count; i += n) {
		n = count - i < most ? count - i : most;
		NAME(fetch_keys)(keys, i + n, count - i - n < most ? count : i + n + most);
		NAME(enter_all)(t, keys + i, n, at);
		NAME(pass_upper)(t, keys + i, n, at, narrow);
		if (FIRST(t) < t->layers)
			NAME(pass_layer)(t, t->layers - 1, FAN, keys + i, n, at, narrow);
		NAME(pass_bottom)(t, keys + i, n, at, answers + i, narrow);
	}
}

/*
 * The same with overlap: a batch's pass that fetches lines of the bottom runs while the next batch
 * enters; the batch looks its lines up after the next one has passed the other layers. So the lines
 * arrive meanwhile.
 */
TARGET UNROLL_INLINE void NAME(search_overlapping)(const struct tree *t, const KEY *keys,
						   size_t count, size_t most, uint32_t *answers,
						   const bool narrow)
{
	const unsigned last = t->layers - 1;
	const void *bottom = t->layer[t->layers];
	uint32_t at[2][BATCH] __attribute__((aligned(TREE_LINE)));
	uint16_t bits[BATCH];
	size_t old = 0; /* keys of the previous batch */
	unsigned turn = 0;

	for (size_t i = 0, n; i < count || old; i += n, old = n, turn = !turn) {
		const KEY *before = keys + (i - old);
		const void *by = NAME(compared)(t, last, before, old, bits, narrow);

		n = count - i < most ? count - i : most;
		NAME(fetch_keys)(keys, i + n, count - i - n < most ? count : i + n + most);
		for (size_t j = 0; j < old || j < n; j += GROUP) {
			if (j < old)
				NAME(pass)(t->layer[last], bottom, FAN, by, j, at[!turn], narrow);
			if (j < n)
				NAME(enter)(t, keys + i + j, GROUP / FAN, at[turn] + j);
		}
		NAME(pass_upper)(t, keys + i, n, at[turn], narrow);
		NAME(pass_bottom)(t, before, old, at[!turn], answers + (i - old), narrow);
	}
}

TARGET static void NAME(search_groups)(const struct tree *t, const KEY *keys, size_t count,
				       size_t most, uint32_t *answers)
{
	if (t->overlap && t->narrow)
		NAME(search_overlapping)(t, keys, count, most, answers, true);
	else if (t->overlap)
		NAME(search_overlapping)(t, keys, count, most, answers, false);
	else if (t->narrow)
		NAME(search_in_turn)(t, keys, count, most, answers, true);
	else
		NAME(search_in_turn)(t, keys, count, most, answers, false);
}

/* See tree_search. */
TARGET static void NAME(search)(const struct tree *t, const void *keys, size_t count,
				uint32_t packet, uint32_t *answers)
{
	const KEY *from = keys;
	const size_t most = packet < BATCH ? packet - packet % GROUP : BATCH,
		     whole = most ? count - count % GROUP : 0;
	KEY key[GROUP] = { 0 };
	uint32_t answer[GROUP];

	NAME(search_groups)(t, from, whole, most, answers);
	for (size_t i = whole, n; i < count; i += n) {
		n = count - i < packet ? count - i : packet;
		memcpy(key, from + i, n * sizeof(KEY));
		NAME(search_groups)(t, key, GROUP, GROUP, answer);
		memcpy(answers + i, answer, n * sizeof(*answer));
	}
}

#undef FAN
#undef LEVELS
#undef NAME
#undef KEY
#undef RANK
#undef RANK_NARROW
#undef FIRST
#undef OP
#undef ALL
#undef LESS
#undef MASK
#undef MASK_NARROW
#undef HAS
#undef STORE
#undef STORE_NARROW
