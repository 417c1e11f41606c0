/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks after the last sample: each key is there once, with a value that was written for it, and
 * the number of keys is right.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/hashmap/state.h"

struct audit {
	const struct state *s;
	unsigned char *seen; /* a bit a key */
	uint64_t keys, strange, twice, spoilt;
};

static void look_at(void *argument, uint64_t key, const uint64_t *value)
{
	struct audit *a = argument;
	const uint64_t i = mix_number(key);
	unsigned char *bits;

	a->keys++;
	if (i >= a->s->mix.range) {
		a->strange++;
		return;
	}
	bits = &a->seen[i / 8];
	a->twice += *bits >> i % 8 & 1;
	*bits |= (unsigned char)(1 << i % 8);
	for (unsigned w = 0; w < a->s->shape.words; w++)
		if (value[w] - value[0] != w || (value[0] - key) % MAP_MOST_WORDS) {
			a->spoilt++;
			return;
		}
}

static const char *judge(const struct audit *a, char *sentence, int64_t expected, uint64_t size)
{
	if (a->strange || a->twice)
		snprintf(sentence, HASHMAP_SENTENCE,
			 "the map has %" PRIu64 " keys that nobody inserted, and %" PRIu64
			 " of them twice",
			 a->strange, a->twice);
	else if (a->spoilt)
		snprintf(sentence, HASHMAP_SENTENCE,
			 "%" PRIu64 " keys have a value that nobody gave them", a->spoilt);
	else if ((int64_t)a->keys != expected || (int64_t)size != expected)
		snprintf(sentence, HASHMAP_SENTENCE,
			 "the map has %" PRIu64 " keys and says %" PRIu64 "; %" PRId64
			 " were inserted and not removed",
			 a->keys, size, expected);
	else
		return NULL;
	return sentence;
}

const char *hashmap_verify(void *state, const struct trial *t)
{
	struct state *s = state;
	struct audit a = { .s = s, .seen = calloc(s->mix.range / 8 + 1, 1) };
	struct worker *self = team_worker(t->team, 0);
	const char *wrong;

	if (!a.seen)
		return "there is no memory to verify it";
	if (s->kind->begin)
		s->kind->begin(s->map, self);
	s->kind->each(s->map, self, look_at, &a);
	if (s->kind->end)
		s->kind->end(s->map, self);
	wrong = judge(&a, s->sentence, hashmap_expected(s, t->threads), s->kind->size(s->map));
	free(a.seen);
	return wrong;
}
