/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/hashmap/mix.h"

#include "kit/random.h"

/* The mix of the course that the source cites (inferred: the source gives no mix). */
#define COURSE_INSERTS 0.6
#define COURSE_RENEWS  0.02

/* A number below n from the upper bits of a random word; the rest is left in *word. */
static inline uint64_t below(uint64_t n, uint64_t *word)
{
	const unsigned __int128 product = (unsigned __int128)*word * n;

	*word = (uint64_t)product;
	return (uint64_t)(product >> 64);
}

static inline uint64_t draw_number(const struct mix *m, uint64_t *word)
{
	uint64_t drawn = *word;

	switch (m->distribution) {
	case DISTRIBUTION_ZIPF:
		*word = random_word(drawn, 0);
		return zipf_draw(&m->zipf, drawn) - 1;
	case DISTRIBUTION_HOT:
		*word = random_word(drawn, 0);
		if (random_unit(*word) < m->skew) {
			*word = random_word(drawn, 1);
			return 0;
		}
		*word = random_word(drawn, 1);
		return below(m->range, &drawn);
	default:
		return below(m->range, word);
	}
}

/* One draw decides for both cases, since a key is found either absent or present. */
static inline enum mix_kind course(double chance)
{
	if (chance < COURSE_RENEWS)
		return MIX_COURSE_RENEW;
	return chance < COURSE_INSERTS ? MIX_COURSE_INSERT : MIX_COURSE_LOOK;
}

static inline enum mix_kind steady(const struct mix *m, double chance)
{
	const double writes = (chance - m->reads) / (1 - m->reads);

	if (chance < m->reads)
		return MIX_FIND;
	if (writes >= m->turnover)
		return MIX_UPSERT;
	return writes < m->turnover / 2 ? MIX_INSERT : MIX_REMOVE;
}

void mix_draw(const struct mix *m, uint64_t stream, uint64_t first, bool read_only,
	      struct operation *operation, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		uint64_t word = random_word(stream, first + i);

		operation[i].key = mix_key(draw_number(m, &word));
		operation[i].kind = read_only	? MIX_FIND
				    : m->course ? course(random_unit(word))
						: steady(m, random_unit(word));
	}
}

/*
 * In the steady state a key is present if its last change was an insertion or an update: with
 * turnover t, removals are t / 2 of the changes.
 */
bool mix_holds(const struct mix *m, uint64_t i)
{
	return !m->course && random_unit(random_word(MIX_GATHER, i)) >= m->turnover / 2;
}
