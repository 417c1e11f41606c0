/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The searches, each as fast as we could write it. searchers.c includes this file once for each
 * width of keys, with KEY and NAME(function).
 */
#define FAN (64 / sizeof(KEY))

/*
 * S+ tree: nodes of a line, FAN + 1 children; a packet of 128 goes through it layer by layer. Keys
 * are kept with their highest bit turned, since AVX2 compares signed integers only.
 */
enum { NAME(MOST) = 12 };
struct NAME(splus) {
	unsigned layers;
	const KEY *layer[NAME(MOST)]; /* the bottom first */
};

static size_t NAME(splus_bytes)(size_t n)
{
	size_t lines = n / FAN, all = 1 + lines;

	while (lines > 1)
		all += lines = (lines + FAN) / (FAN + 1);
	return all * 64;
}

static void NAME(splus_build)(void *memory, const void *sorted, size_t n)
{
	const KEY sign = (KEY)1 << (8 * sizeof(KEY) - 1), *a = sorted;
	struct NAME(splus) *s = memory;
	KEY *at = (KEY *)((char *)memory + 64 * ((sizeof(*s) + 63) / 64));
	size_t lines = n / FAN, below = 1; /* lines of the bottom below a child */

	s->layer[0] = at;
	for (size_t i = 0; i < n; i++)
		*at++ = a[i] ^ sign;
	for (s->layers = 1; lines > 1; s->layers++) {
		lines = (lines + FAN) / (FAN + 1);
		s->layer[s->layers] = at;
		for (size_t line = 0; line < lines; line++)
			for (size_t i = 0; i < FAN; i++) {
				const size_t first = (line * (FAN + 1) + i + 1) * below * FAN;

				*at++ = (first < n ? a[first] : (KEY)-1) ^ sign;
			}
		below *= FAN + 1;
	}
}

SPLUS_TARGET __attribute__((always_inline)) static inline void
NAME(splus_layer)(const KEY *layer, const KEY *below, const bool fetch, const NAME(vector) * q,
		  uint32_t *at)
{
	UNROLL for (unsigned i = 0; i < PACKET; i++)
	{
		at[i] = at[i] * (uint32_t)(FAN + 1) + NAME(rank)(layer + (size_t)at[i] * FAN, q[i]);
		if (fetch)
			__builtin_prefetch(below + (size_t)at[i] * FAN);
	}
}

SPLUS_TARGET static void NAME(splus)(const void *memory, const void *keys, size_t count,
				     uint32_t *answers)
{
	const struct NAME(splus) *s = memory;
	const KEY *key = keys;

	for (size_t packet = 0; packet < count; packet += PACKET) {
		uint32_t at[PACKET];
		NAME(vector) q[PACKET];

		UNROLL for (unsigned i = 0; i < PACKET; i++)
		{
			at[i] = 0;
			q[i] = NAME(splat)(key[packet + i]);
		}
		for (unsigned l = s->layers - 1; l > 0; l--)
			if (s->layers - l < FETCHED)
				NAME(splus_layer)(s->layer[l], NULL, false, q, at);
			else
				NAME(splus_layer)(s->layer[l], s->layer[l - 1], true, q, at);
		UNROLL for (unsigned i = 0; i < PACKET; i++) answers[packet + i] =
			at[i] * (uint32_t)FAN + NAME(rank)(s->layer[0] + (size_t)at[i] * FAN, q[i]);
	}
}

/*
 * Eytzinger's order, 1 is the root; four levels of a node's subtree are in a line (three, of 8
 * bytes). The largest element is apart.
 */
struct NAME(eytzinger) {
	unsigned levels;
	KEY largest;
	const KEY *node;
};

static size_t NAME(eytzinger_bytes)(size_t n)
{
	return 64 + n * sizeof(KEY);
}

static void NAME(eytzinger_build)(void *memory, const void *sorted, size_t n)
{
	struct NAME(eytzinger) *e = memory;
	KEY *node = (KEY *)((char *)memory + 64);

	*e = (struct NAME(eytzinger)){ (unsigned)__builtin_ctzll(n), ((const KEY *)sorted)[n - 1],
				       node };
	for (unsigned level = 0; level < e->levels; level++)
		for (size_t i = 0; i < (size_t)1 << level; i++)
			node[((size_t)1 << level) + i] =
				((const KEY *)sorted)[((2 * i + 1) << (e->levels - 1 - level)) - 1];
}

static void NAME(eytzinger)(const void *memory, const void *keys, size_t count, uint32_t *answers)
{
	const struct NAME(eytzinger) *e = memory;
	const KEY *key = keys, *node = e->node;

	for (size_t batch = 0; batch < count; batch += BATCH) {
		size_t at[BATCH];

		for (unsigned i = 0; i < BATCH; i++)
			at[i] = 1;
		for (unsigned level = 0; level < e->levels; level++)
			for (unsigned i = 0; i < BATCH; i++) {
				__builtin_prefetch(node + at[i] * FAN);
				at[i] = 2 * at[i] + (node[at[i]] < key[batch + i]);
			}
		for (unsigned i = 0; i < BATCH; i++)
			answers[batch + i] = (uint32_t)(at[i] - ((size_t)1 << e->levels)) +
					     (e->largest < key[batch + i]);
	}
}

/* The array itself, by halves, without a branch. */
struct NAME(array) {
	size_t n;
	const KEY *sorted;
};

static size_t NAME(array_bytes)(size_t n)
{
	(void)n;
	return sizeof(struct NAME(array));
}

static void NAME(array_build)(void *memory, const void *sorted, size_t n)
{
	*(struct NAME(array) *)memory = (struct NAME(array)){ n, sorted };
}

static void NAME(branch_free)(const void *memory, const void *keys, size_t count, uint32_t *answers)
{
	const struct NAME(array) *a = memory;
	const KEY *key = keys;

	for (size_t i = 0; i < count; i++) {
		const KEY *at = a->sorted;

		for (size_t half = a->n / 2; half > 0; half /= 2)
			at += half & -(size_t)(at[half - 1] < key[i]);
		answers[i] = (uint32_t)(at - a->sorted) + (*at < key[i]);
	}
}

static void NAME(standard)(const void *memory, const void *keys, size_t count, uint32_t *answers)
{
	const struct NAME(array) *a = memory;

	NAME(standard_lower_bound)(a->sorted, a->n, keys, count, answers);
}

static const struct other NAME(others)[] = {
	{ "S+ tree, packets of 128", NAME(splus_bytes), NAME(splus_build), NAME(splus) },
	{ "Eytzinger, batches of 16", NAME(eytzinger_bytes), NAME(eytzinger_build),
	  NAME(eytzinger) },
	{ "branch-free", NAME(array_bytes), NAME(array_build), NAME(branch_free) },
	{ "std::lower_bound", NAME(array_bytes), NAME(array_build), NAME(standard) },
};

#undef FAN
#undef KEY
#undef NAME
