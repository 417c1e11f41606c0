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
 *	FIRST(tree)        the layer in which searches begin
 * and, where searches begin in the top, for vectors as long as a line:
 *	OP(name)           the intrinsic for the type
 *	LESS(a, b)         a mask of the lanes in which a < b
 *	MASK(line, key)    a mask of the keys of a line that are less than `key`
 *	HAS(a, bits)       a mask of the lanes in which a has any of the bits
 *	STORE(to, v)       stores the lanes as uint32_t
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
		STORE(at + v * FAN,
		      OP(slli)(OP(sub)(k[v], OP(set1)(1 << t->depth)), __builtin_ctzll(FAN)));
#else
	(void)t, (void)keys;
	memset(at, 0, vectors * FAN * sizeof(*at));
#endif
}

/*
 * Takes a key from a line, given by its first slot, to a line of the layer below. At the bottom
 * `times` is 1, and the result is an index. OPAQUE keeps compilers from vectorising over keys.
 */
TARGET __attribute__((always_inline)) static inline uint32_t
NAME(descend)(const KEY *layer, uint32_t from, KEY key, uint32_t times)
{
	uint32_t slot = (from + RANK(layer + from, key)) * times;

	OPAQUE(slot);
	return slot;
}

/* Takes a group through a layer, and prefetches its lines of the one below. */
TARGET __attribute__((always_inline)) static inline void
NAME(pass)(const KEY *layer, const KEY *below, const KEY *keys, uint32_t *at)
{
	UNROLL for (unsigned i = 0; i < GROUP; i++)
	{
		at[i] = NAME(descend)(layer, at[i], keys[i], FAN);
		__builtin_prefetch(below + at[i]);
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
 * Takes all groups of a batch through a layer, without a prefetch (see descend for `times`). Masks
 * are stored, and then counted for a vector of keys at once: with c keys a mask is 2^c - 1, so c is
 * the exponent of its successor as a float.
 */
TARGET __attribute__((always_inline)) static inline void
NAME(pass_only)(const KEY *layer, uint32_t times, const KEY *keys, size_t count,
		const uint32_t *from, uint32_t *to)
{
#ifdef OP
	enum { EXPONENT = 23, BIAS = 127 };
	uint16_t less[BATCH] __attribute__((aligned(TREE_LINE)));

	for (size_t i = 0; i < count; i += GROUP)
		UNROLL for (unsigned j = 0; j < GROUP; j++)
			STORE_MASK(less[i + j], MASK(layer + from[i + j], keys[i + j]));
	for (size_t i = 0; i < count; i += GROUP) {
		const __m512i masks = _mm512_cvtepu16_epi32(*(const __m256i *)(less + i)),
			      powers = _mm512_add_epi32(masks, _mm512_set1_epi32(1)),
			      bits = _mm512_castps_si512(_mm512_cvtepi32_ps(powers)),
			      counts = _mm512_sub_epi32(_mm512_srli_epi32(bits, EXPONENT),
							_mm512_set1_epi32(BIAS)),
			      slots = _mm512_add_epi32(_mm512_load_si512(from + i), counts);

		_mm512_storeu_si512(to + i,
				    _mm512_mullo_epi32(slots, _mm512_set1_epi32((int)times)));
	}
#else
	for (size_t i = 0; i < count; i += GROUP)
		UNROLL for (unsigned j = 0; j < GROUP; j++) to[i + j] =
			NAME(descend)(layer, from[i + j], keys[i + j], times);
#endif
}

/* Takes all groups of a batch through a layer before the next one, as far as layer `end`. */
TARGET __attribute__((always_inline)) static inline void
NAME(pass_all)(const struct tree *t, unsigned end, const KEY *keys, size_t count, uint32_t *at)
{
	unsigned l = FIRST(t);

	for (; l < end && l + 1 < t->far; l++)
		NAME(pass_only)(t->layer[l], FAN, keys, count, at, at);
	for (; l < end; l++)
		for (size_t i = 0; i < count; i += GROUP)
			NAME(pass)(t->layer[l], t->layer[l + 1], keys + i, at + i);
}

/* Looks up whole groups of keys, `most` in a batch. */
TARGET static void NAME(search_in_turn)(const struct tree *t, const KEY *keys, size_t count,
					size_t most, uint32_t *answers)
{
	uint32_t at[BATCH] __attribute__((aligned(TREE_LINE)));

	for (size_t i = 0, n; i < count; i += n) {
		n = count - i < most ? count - i : most;
		NAME(fetch_keys)(keys, i + n, count - i - n < most ? count : i + n + most);
		NAME(enter_all)(t, keys + i, n, at);
		NAME(pass_all)(t, t->layers, keys + i, n, at);
		NAME(pass_only)(t->layer[t->layers], 1, keys + i, n, at, answers + i);
	}
}

/*
 * The same, but a batch makes the pass that fetches lines of the bottom while the next one enters,
 * and looks its lines up after that has passed the other layers: so they arrive meanwhile.
 */
TARGET static void NAME(search_overlapping)(const struct tree *t, const KEY *keys, size_t count,
					    size_t most, uint32_t *answers)
{
	const unsigned last = t->layers - 1;
	uint32_t at[2][BATCH] __attribute__((aligned(TREE_LINE)));
	size_t old = 0; /* keys of the batch before */
	unsigned turn = 0;

	for (size_t i = 0, n; i < count || old; i += n, old = n, turn = !turn) {
		n = count - i < most ? count - i : most;
		NAME(fetch_keys)(keys, i + n, count - i - n < most ? count : i + n + most);
		for (size_t j = 0; j < old || j < n; j += GROUP) {
			if (j < old)
				NAME(pass)(t->layer[last], t->layer[last + 1], keys + (i - old) + j,
					   at[!turn] + j);
			if (j < n)
				NAME(enter)(t, keys + i + j, GROUP / FAN, at[turn] + j);
		}
		NAME(pass_all)(t, last, keys + i, n, at[turn]);
		NAME(pass_only)(t->layer[t->layers], 1, keys + (i - old), old, at[!turn],
				answers + (i - old));
	}
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

	(t->overlap ? NAME(search_overlapping) : NAME(search_in_turn))(t, from, whole, most,
								       answers);
	for (size_t i = whole, n; i < count; i += n) {
		n = count - i < packet ? count - i : packet;
		memcpy(key, from + i, n * sizeof(KEY));
		NAME(search_in_turn)(t, key, GROUP, GROUP, answer);
		memcpy(answers + i, answer, n * sizeof(*answer));
	}
}

#undef FAN
#undef LEVELS
#undef NAME
#undef KEY
#undef RANK
#undef FIRST
#undef OP
#undef LESS
#undef MASK
#undef HAS
#undef STORE
