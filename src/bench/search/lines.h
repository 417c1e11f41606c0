/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search in a tree of lines: no header, but what tree.c includes once for each instruction set and width of keys, with
 *
 *	NAME(function)     the function's name
 *	TARGET             the attribute that allows the instructions; empty for those that are always there
 *	KEY                the type of a key
 *	RANK(line, key)    how many keys of a line are less; may be left out
 * and, where there is a search in the top, with vectors of a line:
 *	OP(name)           the intrinsic for the type
 *	LESS(a, b), HAS(a, bits)  a bit for each lane
 *	STORE(to, v)       lanes to uint32_t
 */
#define FAN    (TREE_LINE / sizeof(KEY))
#define LEVELS (unsigned)__builtin_ctzll(TOP_LINES * FAN)

#ifndef RANK
#define RANK NAME(rank)
typedef KEY NAME(vector) __attribute__((vector_size(16), may_alias));

TARGET static inline unsigned NAME(rank)(const KEY *line, KEY key)
{
	const NAME(vector) *v = (const NAME(vector) *)line, keys = (NAME(vector)){ 0 } + key;
	NAME(vector) less = { 0 };
	KEY sum = 0;

	UNROLL for (unsigned i = 0; i < TREE_LINE / sizeof(*v); i++)
		less -= (NAME(vector))(v[i] < keys);
	UNROLL for (unsigned lane = 0; lane < sizeof(*v) / sizeof(KEY); lane++)
		sum += less[lane];
	return (unsigned)sum;
}
#endif

/*
 * Where a group comes into the layers: at[i] is the first slot of the line for key i. In the top each key, in a lane of its own, goes from node k to
 * 2k or 2k + 1; what it is compared with is looked up among the lines of its level, of which a permutation takes two, and ignores higher bits of k.
 */
TARGET __attribute__((always_inline)) static inline void NAME(enter)(const struct tree *t, const KEY *keys, uint32_t *at)
{
#ifdef OP
	const __m512i *line = t->top;

	UNROLL for (unsigned i = 0; i < GROUP; i += FAN) {
		const __m512i key = _mm512_loadu_si512(keys + i);
		__m512i k = OP(set1)(1), v[4];

		UNROLL for (unsigned level = 0; level < LEVELS; level++) {
			const unsigned nodes = 1 << level, pairs = nodes / FAN / 2;

			if (level == t->depth)
				break;
			v[0] = OP(permutexvar)(k, line[nodes / FAN]);
			UNROLL for (unsigned j = 0; j < pairs; j++)
				v[j] = OP(permutex2var)(line[nodes / FAN + 2 * j], k, line[nodes / FAN + 2 * j + 1]);
			UNROLL for (unsigned of = 1; of < pairs; of *= 2)
				UNROLL for (unsigned j = 0; j < pairs; j += 2 * of)
					v[j] = OP(mask_mov)(v[j], HAS(k, 2 * of * FAN), v[j + of]);
			k = OP(add)(k, k);
			k = OP(mask_add)(k, LESS(v[0], key), k, OP(set1)(1));
		}
		STORE(at + i, OP(slli)(OP(sub)(k, OP(set1)(1 << t->depth)), __builtin_ctzll(FAN)));
	}
#else
	(void)t, (void)keys;
	memset(at, 0, GROUP * sizeof(*at));
#endif
}

/* A group goes through a layer. */
TARGET __attribute__((always_inline)) static inline void NAME(pass)(const KEY *layer, const KEY *below, const bool fetch, const KEY *keys, uint32_t *at)
{
	UNROLL for (unsigned i = 0; i < GROUP; i++) {
		at[i] = (at[i] + RANK(layer + at[i], keys[i])) * (uint32_t)FAN;
		if (fetch)
			__builtin_prefetch(below + at[i]);
	}
}

TARGET static void NAME(search_groups)(const struct tree *t, const KEY *keys, size_t groups, uint32_t *answers)
{
	uint32_t at[ROOM][GROUP] __attribute__((aligned(TREE_LINE)));
#ifdef OP
	const unsigned first = t->first;
#else
	const unsigned first = 0;
#endif
	const size_t way = (t->layers - first + 1) * AHEAD;

	for (size_t step = 0; step < groups + way; step++) {
		size_t g = step; /* later, g may be a group that is not there: before the first, which is a large number, or behind the last */

		if (g < groups)
			NAME(enter)(t, keys + g * GROUP, at[g % ROOM]);
		for (unsigned l = first; l < t->layers; l++) {
			g -= AHEAD;
			if (g >= groups)
				continue;
			if (l + 1 < t->far)
				NAME(pass)(t->layer[l], NULL, false, keys + g * GROUP, at[g % ROOM]);
			else
				NAME(pass)(t->layer[l], t->layer[l + 1], true, keys + g * GROUP, at[g % ROOM]);
		}
		g -= AHEAD;
		if (g >= groups)
			continue;
		UNROLL for (unsigned i = 0; i < GROUP; i++)
			answers[g * GROUP + i] = at[g % ROOM][i] + RANK((const KEY *)t->layer[t->layers] + at[g % ROOM][i], keys[g * GROUP + i]);
	}
}

/* See tree_search. */
TARGET static void NAME(search)(const struct tree *t, const void *keys, size_t count, uint32_t *answers)
{
	const KEY *from = keys;
	const size_t left = count % GROUP, whole = count - left;
	KEY key[GROUP] = { 0 };
	uint32_t answer[GROUP];

	NAME(search_groups)(t, from, whole / GROUP, answers);
	if (!left)
		return;
	memcpy(key, from + whole, left * sizeof(KEY));
	NAME(search_groups)(t, key, 1, answer);
	memcpy(answers + whole, answer, left * sizeof(*answer));
}

#undef FAN
#undef LEVELS
#undef NAME
#undef KEY
#undef RANK
#undef OP
#undef LESS
#undef HAS
#undef STORE
