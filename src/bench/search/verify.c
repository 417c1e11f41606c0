/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "bench/search/searchers.h"
#include "kit/shares.h"
#include "base/apart.h"

/* One in PROBED elements is generated again and compared. */
enum { PROBED = 16 };

static uint64_t element(const struct recipe *r, const void *array, size_t i)
{
	return array ? key_get(r, array, i) : recipe_element(r, i);
}

size_t search_reference(const struct recipe *r, const void *array, uint64_t key)
{
	size_t i = recipe_about(r, key);

	while (i > 0 && element(r, array, i - 1) >= key)
		i--;
	while (i < r->n && element(r, array, i) < key)
		i++;
	return i;
}

/* What one thread finds. */
struct finding {
	_Alignas(APART) uint64_t sum; /* of the correct answers */
	bool unsorted, other;
};

struct findings {
	const struct verification *verification;
	struct finding *of;
};

/*
 * The sum of the correct answers to keys first..last-1 of a stream, as often as they were dealt:
 * once in every round over the stream, and once more if they are before its position.
 */
static uint64_t sum_of(const struct verification *c, const struct stream *s, size_t first,
		       size_t last)
{
	const uint64_t dealt = s->dealt * s->packet, rounds = dealt / s->keys,
		       rest = dealt % s->keys;
	uint64_t sum = 0;

	for (size_t i = first; i < last && (rounds || i < rest); i++)
		sum += (rounds + (i < rest)) *
		       search_reference(c->recipe, c->array, key_get(c->recipe, s->key, i));
	return sum;
}

static void find(void *argument, struct worker *self)
{
	const struct findings *all = argument;
	const struct verification *c = all->verification;
	struct finding *f = &all->of[self->index];
	const size_t n = c->recipe->n, end = share_begin(n, self->index + 1, self->threads);

	for (size_t i = share_begin(n, self->index, self->threads); c->array && i < end; i++) {
		f->unsorted |=
			i && key_get(c->recipe, c->array, i - 1) > key_get(c->recipe, c->array, i);
		f->other |= i % PROBED == 0 &&
			    key_get(c->recipe, c->array, i) != recipe_element(c->recipe, i);
	}
	for (unsigned i = 0; i < c->streams; i++) {
		const struct stream *s = &c->stream[i];

		f->sum += sum_of(c, s, share_begin(s->keys, self->index, self->threads),
				 share_begin(s->keys, self->index + 1, self->threads));
	}
}

static const char *compare(const struct verification *c, const struct finding *of, unsigned threads)
{
	uint64_t wanted = 0, sum = 0, dealt = 0, keys = 0;

	for (unsigned i = 0; i < threads; i++) {
		if (of[i].unsorted)
			return "the array is no longer sorted";
		if (of[i].other)
			return "the array is not the one that was generated";
		wanted += of[i].sum;
	}
	for (unsigned i = 0; i < c->streams; i++)
		dealt += c->stream[i].dealt * c->stream[i].packet;
	for (unsigned i = 0; i < c->searchers; i++) {
		keys += c->searcher[i].keys;
		sum += c->searcher[i].sum;
	}
	if (keys != dealt)
		return "the numbers of keys sent and answered differ: a packet was lost, or "
		       "searched twice";
	return sum == wanted ? NULL
			     : "the sum of all answers differs from lower_bound's: a key got a "
			       "wrong answer, or another key's";
}

static const char *verify_last(const struct verification *c)
{
	for (unsigned i = 0; i < c->searchers; i++) {
		const struct searcher *s = &c->searcher[i];

		for (size_t j = 0; s->last && j < s->last_keys; j++)
			if (s->answers[j] !=
			    search_reference(c->recipe, c->array, key_get(c->recipe, s->last, j)))
				return "an answer in a searcher's last packet differs from "
				       "lower_bound's";
	}
	return NULL;
}

const char *search_verify(const struct verification *c, struct team *team, unsigned threads)
{
	struct findings all = { .verification = c, .of = apart_alloc(threads * sizeof(*all.of)) };
	const char *wrong;

	if (!all.of)
		return "out of memory while checking the answers";
	team_run(team, find, &all);
	wrong = compare(c, all.of, threads);
	free(all.of);
	return wrong ? wrong : verify_last(c);
}
