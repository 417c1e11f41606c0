/* SPDX-License-Identifier: Apache-2.0 */
/* The work of a sample: blocks of operations, which are drawn first, then done. */
#include "bench/hashmap/hashmap.h"
#include "kit/loop.h"
#include "kit/opaque.h"
#include "kit/random.h"
#include "machine/clock.h"

/* ---- drawing ---- */

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
static inline enum mix_kind draw_course(double chance)
{
	if (chance < COURSE_RENEWS)
		return MIX_COURSE_RENEW;
	return chance < COURSE_INSERTS ? MIX_COURSE_INSERT : MIX_COURSE_LOOK;
}

static inline enum mix_kind draw_steady(const struct mix *m, double chance)
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
				    : m->course ? draw_course(random_unit(word))
						: draw_steady(m, random_unit(word));
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

/* ---- doing ---- */

/* Local copies of the state that an operation needs. */
struct hand {
	const struct map_kind *kind;
	void *map;
	struct worker *self;
	struct own *own;
	unsigned words;
	uint64_t stamp;
	uint64_t value[MAP_MOST_WORDS];
};

static inline const uint64_t *value_for(struct hand *h, uint64_t key)
{
	for (unsigned w = 0; w < h->words; w++)
		h->value[w] = mix_word(key, h->stamp, w);
	return h->value;
}

static inline enum map_answer look(struct hand *h, uint64_t key)
{
	const enum map_answer answer = h->kind->find(h->map, h->self, key, h->value);

	if (answer == MAP_PRESENT)
		h->own->sum += h->value[0];
	return answer;
}

static inline enum map_answer put(struct hand *h, uint64_t key)
{
	const enum map_answer answer = h->kind->insert(h->map, h->self, key, value_for(h, key));

	h->own->keys += answer == MAP_ABSENT;
	return answer;
}

static inline enum map_answer take(struct hand *h, uint64_t key)
{
	const enum map_answer answer = h->kind->remove(h->map, h->self, key);

	h->own->keys -= answer == MAP_PRESENT;
	return answer;
}

static inline enum map_answer update(struct hand *h, uint64_t key)
{
	const enum map_answer answer = h->kind->upsert(h->map, h->self, key, value_for(h, key));

	h->own->keys += answer == MAP_ABSENT;
	return answer;
}

static inline enum map_answer course(struct hand *h, const struct operation *o)
{
	enum map_answer answer = look(h, o->key);

	if (o->kind != MIX_COURSE_LOOK && answer == MAP_ABSENT)
		return put(h, o->key);
	if (o->kind != MIX_COURSE_RENEW || answer != MAP_PRESENT)
		return answer;
	answer = take(h, o->key);
	return answer == MAP_NO_MEMORY ? answer : put(h, o->key);
}

static inline enum map_answer operate(struct hand *h, const struct operation *o)
{
	switch (o->kind) {
	case MIX_FIND:
		return look(h, o->key);
	case MIX_UPSERT:
		return update(h, o->key);
	case MIX_INSERT:
		return put(h, o->key);
	case MIX_REMOVE:
		return take(h, o->key);
	default:
		return course(h, o);
	}
}

/*
 * Does a block of operations, and times one in `every`. *left: operations up to the next timed one.
 * False: no memory.
 */
static bool operate_block(struct hand *h, const struct operation *o, unsigned n, uint64_t every,
			  uint64_t *left)
{
	for (unsigned i = 0; i < n; i++) {
		enum map_answer answer;

		h->stamp++;
		if (!every || --*left) {
			answer = operate(h, &o[i]);
		} else {
			const uint64_t began = clock_ticks();

			answer = operate(h, &o[i]);
			histogram_add(h->own->times, (double)(clock_ticks() - began));
			*left = every;
		}
		if (__builtin_expect(answer == MAP_NO_MEMORY, 0))
			return false;
	}
	return true;
}

/* Does a block in one call, with memory prefetched. False: no memory for one of them. */
static bool operate_at_once(struct hand *h, const struct operation *o, unsigned n)
{
	static const enum map_action action[] = { [MIX_FIND] = MAP_FIND,
						  [MIX_UPSERT] = MAP_UPSERT,
						  [MIX_INSERT] = MAP_INSERT,
						  [MIX_REMOVE] = MAP_REMOVE };
	struct map_operation all[MAP_BLOCK];
	bool room = true;

	for (unsigned i = 0; i < n; i++)
		all[i] = (struct map_operation){ .key = o[i].key,
						 .value = mix_word(o[i].key, ++h->stamp, 0),
						 .action = action[o[i].kind] };
	h->kind->batch(h->map, h->self, all, n);
	for (unsigned i = 0; i < n; i++) {
		const struct map_operation *done = &all[i];

		room &= done->answer != MAP_NO_MEMORY;
		if (done->action == MAP_FIND)
			h->own->sum += done->answer == MAP_PRESENT ? done->value : 0;
		else if (done->action == MAP_REMOVE)
			h->own->keys -= done->answer == MAP_PRESENT;
		else
			h->own->keys += done->answer == MAP_ABSENT;
	}
	return room;
}

void hashmap_work(void *state, struct worker *self)
{
	struct state *s = state;
	struct own *own = &s->own[self->index];
	struct hand h = { .kind = s->kind,
			  .map = s->map,
			  .self = self,
			  .own = own,
			  .words = s->shape.words,
			  .stamp = own->drawn };
	struct operation block[MAP_BLOCK];
	uint64_t left = s->every, done = 0, now, drawn;
	bool room;

	if (!s->map) {
		self->failed = "there was no memory for the map";
		return;
	}
	own->drawing = own->working = 0;
	own->began = now = clock_ticks();
	if (s->kind->begin)
		s->kind->begin(s->map, self);
	room = !self->failed;
	while (room && done < self->count &&
	       !(self->count == UINT64_MAX && loop_time_is_up(self))) {
		const uint64_t rest = self->count - done;
		const unsigned n = rest < MAP_BLOCK ? (unsigned)rest : MAP_BLOCK;

		mix_draw(&s->mix, own->stream, own->drawn, self->role != 0, block, n);
		drawn = clock_ticks();
		own->drawing += drawn - now;
		room = s->batches ? operate_at_once(&h, block, n)
				  : operate_block(&h, block, n, s->every, &left);
		if (s->kind->rest)
			s->kind->rest(s->map, self);
		now = clock_ticks();
		own->working += now - drawn;
		own->drawn += n;
		done += n;
	}
	if (s->kind->end)
		s->kind->end(s->map, self);
	own->ended = clock_ticks();
	OPAQUE(own->sum);
	self->done = done;
}
