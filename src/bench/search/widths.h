/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels for keys of one width: a template that kernels.c includes once for each, with
 *
 *	KEY              the type of a key
 *	WIDER            a type of twice its bits
 *	NAME(function)   the function's name
 *	REGISTER         the prefix of aarch64's registers of that width
 */

__attribute__((noinline)) void NAME(search_branchy)(const void *array, size_t n, uint32_t first,
						    const void *keys, size_t count,
						    uint32_t *answers)
{
	const KEY *a = array, *k = keys;

	for (size_t i = 0; i < count; i++) {
		const KEY key = k[i];
		size_t low = 0, high = n;

		while (low < high) {
			size_t middle = low + (high - low) / 2;

			if (a[middle] < key) {
				low = middle + 1;
				/* otherwise a compiler may use a conditional move */
				OPAQUE(low);
			} else if (a[middle] > key) {
				high = middle;
				OPAQUE(high);
			} else if (middle > low && a[middle - 1] == key) {
				high = middle;
			} else {
				low = middle;
				break;
			}
		}
		answers[i] = first + (uint32_t)low;
	}
}

__attribute__((noinline)) void NAME(search_branchless)(const void *array, size_t n, uint32_t first,
						       const void *keys, size_t count,
						       uint32_t *answers)
{
	const KEY *k = keys;

	for (size_t i = 0; i < count; i++) {
		const KEY *a = array, key = k[i];

		for (size_t left = n, half; (half = left / 2); left -= half)
			MOVE_IF_LESS(a, a + half, a[half - 1], key);
		answers[i] = first + (uint32_t)(a - (const KEY *)array) + (n && *a < key);
	}
}

/* The number of limits less than the key, by a branchless binary search. */
static inline unsigned NAME(owner)(const struct ranges *r, KEY key)
{
	const KEY *limit = r->limit;

	for (unsigned half = r->slots / 2; half; half /= 2)
		MOVE_IF_LESS(limit, limit + half, limit[half - 1], key);
	return (unsigned)(limit - (const KEY *)r->limit);
}

void NAME(deal_by_range)(struct dealer *d)
{
	struct stream *s = d->stream;
	const KEY *keys = (const KEY *)stream_next(s);
	const uint32_t packet = s->packet;

	for (uint32_t i = 0; i < packet; i++) {
		struct outlet *o = &d->outlet[NAME(owner)(d->ranges, keys[i])];
		struct packet *p = open_packet(d, o);

		((KEY *)p->key)[p->keys++] = keys[i];
		if (p->keys == packet)
			send_packet(o);
	}
	stream_go_on(s, 1);
}

void NAME(partition)(void *keys, size_t n, const struct ranges *r, uint32_t *cut, uint32_t *next)
{
	KEY *k = keys;

	memset(cut, 0, (r->parts + 1) * sizeof(*cut));
	for (size_t i = 0; i < n; i++)
		cut[NAME(owner)(r, k[i]) + 1]++;
	for (unsigned i = 0; i < r->parts; i++) {
		next[i] = cut[i];
		cut[i + 1] += cut[i];
	}
	for (unsigned i = 0; i < r->parts; i++)
		while (next[i] < cut[i + 1]) {
			const KEY key = k[next[i]];
			const unsigned owner = NAME(owner)(r, key);
			const uint32_t to = next[owner]++;

			/* A key that is in its place already is swapped with itself. */
			k[next[i] - (owner == i)] = k[to];
			k[to] = key;
		}
}

void NAME(find_owners)(const void *keys, size_t n, const struct ranges *r, uint32_t *owner,
		       size_t *count)
{
	const KEY *k = keys;

	for (size_t i = 0; i < n; i++) {
		owner[i] = NAME(owner)(r, k[i]);
		count[owner[i]]++;
	}
}

void NAME(hand_out)(const void *keys, size_t n, const uint32_t *owner, void *to, size_t *next)
{
	const KEY *from = keys;
	KEY *k = to;

	for (size_t i = 0; i < n; i++)
		k[next[owner[i]]++] = from[i];
}

void NAME(fetch)(const void *array, size_t n, const void *keys, size_t count)
{
	const KEY *a = array, *k = keys;
	KEY sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += a[(WIDER)k[i] * n >> 8 * sizeof(KEY)];
	OPAQUE(sum);
}

#undef KEY
#undef WIDER
#undef NAME
#undef REGISTER
