/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdlib.h>

#include "bench/search/recipe.h"
#include "kit/random.h"
#include "kit/shares.h"

__extension__ typedef unsigned __int128 wide;

static uint64_t scale(uint64_t random, uint64_t n)
{
	return (uint64_t)((wide)random * n >> 64);
}

/* The number of possible keys. */
static wide keys_of(const struct recipe *r)
{
	return (wide)1 << (8 * r->width);
}

/* The first key of interval i. */
static wide begin_of(const struct recipe *r, size_t i)
{
	/* the division dominates the cost of an element: 64 bits suffice here */
	if (r->width == sizeof(uint32_t))
		return (((uint64_t)i << 32) + r->n - 1) / r->n;
	return (keys_of(r) * i + r->n - 1) / r->n;
}

struct recipe recipe_of(uint64_t seed, size_t n, unsigned width, enum distribution distribution,
			double skew)
{
	struct recipe r = { .seed = random_word(seed, 0),
			    .n = n,
			    .width = width,
			    .distribution = distribution,
			    .skew = skew };

	if (distribution == DISTRIBUTION_ZIPF)
		r.zipf = zipf_of(n, skew);
	if (distribution == DISTRIBUTION_HOT && n > 1)
		r.hot = (uint64_t)begin_of(&r, n < TENTH ? 1 : n / TENTH);
	return r;
}

uint64_t recipe_largest(const struct recipe *r)
{
	return (uint64_t)(keys_of(r) - 1);
}

/* Random number i of a stream; stream 0 is the array's. */
static uint64_t random_of(const struct recipe *r, unsigned stream, size_t i)
{
	return random_word(random_mix(r->seed + stream * RANDOM_GOLDEN), i);
}

static uint64_t element_between(const struct recipe *r, size_t i, wide begin, wide end)
{
	if (i == 0)
		return 0;
	if (i == r->n - 1)
		return recipe_largest(r);
	return (uint64_t)begin + scale(random_of(r, 0, i), (uint64_t)(end - begin));
}

uint64_t recipe_element(const struct recipe *r, size_t i)
{
	return element_between(r, i, begin_of(r, i), begin_of(r, i + 1));
}

/* A key below `hot`, or one of the others. */
static uint64_t hot_key(const struct recipe *r, uint64_t random)
{
	const uint64_t rest = recipe_largest(r) - r->hot + 1, next = random_word(random, 0);

	if (random_unit(random) < r->skew)
		return scale(next, r->hot);
	return r->hot + scale(next, rest);
}

uint64_t recipe_key(const struct recipe *r, unsigned stream, size_t i)
{
	const uint64_t random = random_of(r, stream + 1, i);

	if (i < 2)
		return i ? recipe_largest(r) : 0;
	if (r->distribution == DISTRIBUTION_ZIPF)
		return recipe_element(r, zipf_draw(&r->zipf, random) - 1);
	if (r->distribution == DISTRIBUTION_HOT && r->hot)
		return hot_key(r, random);
	return random >> (64 - 8 * r->width);
}

size_t recipe_about(const struct recipe *r, uint64_t key)
{
	return (size_t)((wide)key * r->n >> (8 * r->width));
}

void key_put(const struct recipe *r, void *keys, size_t i, uint64_t key)
{
	if (r->width == sizeof(uint32_t))
		((uint32_t *)keys)[i] = (uint32_t)key;
	else
		((uint64_t *)keys)[i] = key;
}

uint64_t key_get(const struct recipe *r, const void *keys, size_t i)
{
	return r->width == sizeof(uint32_t) ? ((const uint32_t *)keys)[i]
					    : ((const uint64_t *)keys)[i];
}

void recipe_fill_array(const struct recipe *r, void *array, size_t offset, size_t length,
		       size_t first, size_t last)
{
	const size_t end = last < length ? last : length;
	wide begin = begin_of(r, offset + first), next;

	for (size_t i = first; i < end; i++, begin = next) {
		next = begin_of(r, offset + i + 1);
		key_put(r, array, i, element_between(r, offset + i, begin, next));
	}
	for (size_t i = first > length ? first : length; i < last; i++)
		key_put(r, array, i, recipe_largest(r));
}

void recipe_fill_stream(const struct recipe *r, void *keys, unsigned stream, size_t n)
{
	for (size_t i = 0; i < n; i++)
		key_put(r, keys, i, recipe_key(r, stream, i));
}

static int allocate(struct ranges *r, unsigned parts)
{
	*r = (struct ranges){ .parts = parts, .slots = 1 };
	while (r->slots < parts)
		r->slots *= 2;
	r->begin = calloc((size_t)parts + 1, sizeof(*r->begin));
	r->limit = calloc(r->slots, sizeof(uint64_t));
	if (r->begin && r->limit)
		return 0;
	ranges_free(r);
	return -1;
}

static void set_limits(struct ranges *r, const struct recipe *recipe)
{
	for (unsigned i = 1; i < r->slots; i++)
		key_put(recipe, r->limit, i - 1,
			i < r->parts ? recipe_element(recipe, r->begin[i] - 1)
				     : recipe_largest(recipe));
}

int ranges_even(struct ranges *r, const struct recipe *recipe, unsigned parts)
{
	if (allocate(r, parts))
		return -1;
	for (unsigned i = 0; i <= parts; i++)
		r->begin[i] = share_begin(recipe->n, i, parts);
	set_limits(r, recipe);
	return 0;
}

static int compare(const void *a, const void *b)
{
	const size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return x < y ? -1 : x > y;
}

int ranges_weighted(struct ranges *r, const struct recipe *recipe, unsigned parts, size_t samples)
{
	/* no thread searches it: the ranges must fit keys other than those they were made from */
	const unsigned stream = UINT_MAX - 1;
	size_t *at = calloc(samples, sizeof(*at));

	if (!at || allocate(r, parts)) {
		free(at);
		return -1;
	}
	for (size_t i = 0; i < samples; i++)
		at[i] = recipe_about(recipe, recipe_key(recipe, stream, i));
	qsort(at, samples, sizeof(*at), compare);
	r->begin[parts] = recipe->n;
	for (unsigned i = 1; i < parts; i++) {
		const size_t least = r->begin[i - 1] + 1, most = recipe->n - (parts - i),
			     wanted = at[samples / parts * i];

		r->begin[i] = wanted < least ? least : wanted > most ? most : wanted;
	}
	set_limits(r, recipe);
	free(at);
	return 0;
}

void ranges_free(struct ranges *r)
{
	free(r->begin);
	free(r->limit);
	*r = (struct ranges){ 0 };
}
