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
 * Finds the line at which each key of a group enters the layers: `at` gets its first slot. In the
 * top each key, in its own lane, goes from node k to 2k or 2k + 1.
 */
TARGET __attribute__((always_inline)) static inline void NAME(enter)(const struct tree *t,
								     const KEY *keys, uint32_t *at)
{
#ifdef OP
	UNROLL for (unsigned i = 0; i < GROUP; i += FAN)
	{
		const __m512i key = _mm512_loadu_si512(keys + i);
		__m512i k = OP(set1)(1);

		UNROLL for (unsigned level = 0; level < LEVELS; level++)
		{
			__mmask16 right;

			if (level == t->depth)
				break;
			right = LESS(NAME(look_up)(t->top, k, 1u << level), key);
			k = OP(add)(k, k);
			k = OP(mask_add)(k, right, k, OP(set1)(1));
		}
		STORE(at + i, OP(slli)(OP(sub)(k, OP(set1)(1 << t->depth)), __builtin_ctzll(FAN)));
	}
#else
	(void)t, (void)keys;
	memset(at, 0, GROUP * sizeof(*at));
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

/* Takes a group through a layer. */
TARGET __attribute__((always_inline)) static inline void
NAME(pass)(const KEY *layer, const KEY *below, const bool fetch, const KEY *keys, uint32_t *at)
{
	UNROLL for (unsigned i = 0; i < GROUP; i++)
	{
		at[i] = NAME(descend)(layer, at[i], keys[i], FAN);
		if (fetch)
			__builtin_prefetch(below + at[i]);
	}
}

/* Takes all groups of a batch through a layer before the next one. */
TARGET static void NAME(search_batch)(const struct tree *t, const KEY *keys, size_t count,
				      uint32_t *answers)
{
	uint32_t at[BATCH] __attribute__((aligned(TREE_LINE)));
	unsigned l = FIRST(t);

	for (size_t i = 0; i < count; i += GROUP)
		NAME(enter)(t, keys + i, at + i);
	for (; l < t->layers && l + 1 < t->far; l++)
		for (size_t i = 0; i < count; i += GROUP)
			NAME(pass)(t->layer[l], NULL, false, keys + i, at + i);
	for (; l < t->layers; l++)
		for (size_t i = 0; i < count; i += GROUP)
			NAME(pass)(t->layer[l], t->layer[l + 1], true, keys + i, at + i);
	for (size_t i = 0; i < count; i += GROUP)
		UNROLL for (unsigned j = 0; j < GROUP; j++) answers[i + j] =
			NAME(descend)(t->layer[l], at[i + j], keys[i + j], 1);
}

/* See tree_search. */
TARGET static void NAME(search)(const struct tree *t, const void *keys, size_t count,
				uint32_t *answers)
{
	const KEY *from = keys;
	const size_t left = count % GROUP, whole = count - left;
	KEY key[GROUP] = { 0 };
	uint32_t answer[GROUP];

	for (size_t i = 0; i < whole; i += BATCH)
		NAME(search_batch)(t, from + i, whole - i < BATCH ? whole - i : BATCH, answers + i);
	if (!left)
		return;
	memcpy(key, from + whole, left * sizeof(KEY));
	NAME(search_batch)(t, key, GROUP, answer);
	memcpy(answers + whole, answer, left * sizeof(*answer));
}

#undef FAN
#undef LEVELS
#undef NAME
#undef KEY
#undef RANK
#undef FIRST
#undef OP
#undef LESS
#undef HAS
#undef STORE
