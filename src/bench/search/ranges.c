/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdlib.h>

#include "bench/search/ranges.h"
#include "kit/shares.h"

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
	/* no thread searches it: the ranges must fit keys that they were not made from */
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
