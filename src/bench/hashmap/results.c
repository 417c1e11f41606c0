/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports of a sample; and the check after the last one: each key is there once, with a value that
 * was written for it; the number of keys is right; and the map answers as it should.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/hashmap/hashmap.h"

enum {
	THROUGHPUT,
	MAP_TIME,
	DRAW_TIME,
	LATENCY,
	LATENCY_P99,
	LATENCY_P999,
	LATENCY_LONGEST,
	READER_LATENCY,
	LOCK_WAIT,
	GROWTH,
	GROWTHS,
	KEYS_HELD,
	BYTES_A_KEY,
	LOST,
};

const struct metric hashmap_metrics[HASHMAP_METRICS] = {
	[THROUGHPUT] = { "throughput", "operation/s",
			 "operations of all threads together, including the drawing of keys",
			 HIGHER_IS_BETTER, threads_together },
	[MAP_TIME] = { "map-time", "s", "time of an operation in the map, without drawing its key",
		       LOWER_IS_BETTER, NULL },
	[DRAW_TIME] = { "draw-time", "s", "time to draw an operation and its key",
			NEITHER_IS_BETTER, NULL },
	[LATENCY] = { "latency", "s",
		      "median time of an operation of threads that do the mix (one in --every is "
		      "timed)",
		      LOWER_IS_BETTER, .kind = M_DISTRIBUTION },
	[LATENCY_P99] = { "latency-p99", "s", "99th percentile of the latency", LOWER_IS_BETTER,
			  NULL },
	[LATENCY_P999] = { "latency-p99.9", "s", "99.9th percentile of the latency",
			   LOWER_IS_BETTER, NULL },
	[LATENCY_LONGEST] = { "latency-longest", "s", "longest time of an operation",
			      LOWER_IS_BETTER, NULL },
	[READER_LATENCY] = { "reader-latency", "s",
			     "median time of a lookup by the threads of --readers", LOWER_IS_BETTER,
			     .kind = M_DISTRIBUTION },
	[LOCK_WAIT] = { "lock-wait", "1", "share of the threads' time spent waiting for locks",
			LOWER_IS_BETTER, NULL },
	[GROWTH] = { "growth-time", "s",
		     "time per sample that all threads spent doubling the table, including the "
		     "wait for locks",
		     LOWER_IS_BETTER, NULL },
	[GROWTHS] = { "growths", "1", "number of times that the table doubled in a sample",
		      NEITHER_IS_BETTER, .kind = M_COUNT },
	[KEYS_HELD] = { "keys", "1", "keys in the map at the end of a sample", NEITHER_IS_BETTER,
			.kind = M_COUNT },
	[BYTES_A_KEY] = { "bytes-a-key", "B",
			  "memory of tables, locks and entries per key in the map", LOWER_IS_BETTER,
			  NULL },
	[LOST] = { "lost", "1", "keys that are missing or surplus after all operations",
		   LOWER_IS_BETTER, .kind = M_COUNT },
	TIME_METRIC("operation"),
};

static double s_per_tick(const struct state *s, const struct trial *t, unsigned thread)
{
	const struct attendance *a = team_attendance(t->team, thread);
	const struct own *own = &s->own[thread];

	return (a->end - a->begin) / (double)(own->ended - own->began);
}

/* Times of threads first..end-1, in s. NULL: there are none. */
static const struct histogram *times_of(struct state *s, const struct trial *t, unsigned first,
					unsigned end)
{
	struct histogram *all = &s->times[t->threads];

	histogram_clear(all);
	for (unsigned i = first; i < end && s->every; i++) {
		histogram_merge(all, s->own[i].times, s_per_tick(s, t, i));
		histogram_clear(s->own[i].times);
	}
	return histogram_total(all) ? all : NULL;
}

static void collect_latency(struct state *s, const struct trial *t, struct result *result)
{
	const struct histogram *all = times_of(s, t, mixed_of(t), t->threads);

	if (all)
		report_distribution(result, READER_LATENCY, all, 1);
	all = times_of(s, t, 0, mixed_of(t));
	if (!all)
		return;
	report_distribution(result, LATENCY, all, 1);
	report(result, LATENCY_P99, histogram_quantile(all, 0.99));
	report(result, LATENCY_P999, histogram_quantile(all, 0.999));
	report(result, LATENCY_LONGEST, histogram_quantile(all, 1));
}

/* Reports the cost of locks and growth; a map without locks reports no waiting. */
static void collect_costs(const struct state *s, const struct trial *t, struct result *result)
{
	double waited = 0, grown = 0, growths = 0;

	for (unsigned i = 0; i < t->threads; i++) {
		const struct map_costs *c = &s->memory.costs[i];
		const struct own *own = &s->own[i];

		waited += (double)c->waited / (double)(own->ended - own->began) / t->threads;
		grown += (double)c->grown * s_per_tick(s, t, i);
		growths += (double)c->growths;
	}
	report(result, LOCK_WAIT, waited);
	if (s->kind->grows_apart)
		return;
	report(result, GROWTH, grown);
	report(result, GROWTHS, growths);
}

void hashmap_collect(void *state, const struct trial *t, struct result *result)
{
	struct state *s = state;
	const double keys = (double)s->kind->size(s->map);
	double drawing = 0, working = 0, done = 0;

	for (unsigned i = 0; i < mixed_of(t); i++) {
		const double tick = s_per_tick(s, t, i);

		drawing += (double)s->own[i].drawing * tick;
		working += (double)s->own[i].working * tick;
		done += (double)team_worker(t->team, i)->done;
	}
	report(result, MAP_TIME, working / done);
	report(result, DRAW_TIME, drawing / done);
	collect_latency(s, t, result);
	collect_costs(s, t, result);
	report(result, KEYS_HELD, keys);
	if (s->kind->bytes && keys > 0)
		report(result, BYTES_A_KEY, (double)s->kind->bytes(s->map) / keys);
	report(result, LOST, fabs(keys - (double)hashmap_expected(s, t->threads)));
}

struct audit {
	const struct state *s;
	struct worker *self;
	unsigned char *seen; /* one bit per key */
	uint64_t keys, strange, twice, spoilt;
};

/* Whether the words are of one value that was written for the key. */
static bool is_of(const struct audit *a, uint64_t key, const uint64_t *value)
{
	for (unsigned w = 0; w < a->s->shape.words; w++)
		if (value[w] - value[0] != w || (value[0] - key) % MAP_MOST_WORDS)
			return false;
	return true;
}

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
	a->spoilt += !is_of(a, key, value);
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

/* ---- what the map answers, one operation after the other ---- */

enum {
	ASKED = 1 << 20, /* keys that are looked up, at most */
	CHANGED = 16,	 /* keys that are changed */
};

/* One operation, by the function that the samples called. */
static enum map_answer act(const struct audit *a, enum map_action action, uint64_t key,
			   uint64_t *value)
{
	const struct map_kind *kind = a->s->kind;
	struct map_operation o = { .key = key, .value = *value, .action = action };

	if (a->s->batches) {
		kind->batch(a->s->map, a->self, &o, 1);
		*value = o.value;
		return o.answer;
	}
	switch (action) {
	case MAP_FIND:
		return kind->find(a->s->map, a->self, key, value);
	case MAP_INSERT:
		return kind->insert(a->s->map, a->self, key, value);
	case MAP_UPSERT:
		return kind->upsert(a->s->map, a->self, key, value);
	default:
		return kind->remove(a->s->map, a->self, key);
	}
}

/* Whether the key is found as it is held. */
static bool is_found(const struct audit *a, uint64_t i)
{
	const uint64_t key = mix_key(i);
	uint64_t value[MAP_MOST_WORDS] = { 0 };
	const bool held = a->seen[i / 8] >> i % 8 & 1;

	if (act(a, MAP_FIND, key, value) != (held ? MAP_PRESENT : MAP_ABSENT))
		return false;
	return !held || is_of(a, key, value);
}

/*
 * Changes a key, and looks it up after each step. A step: the operation, the stamp of its value,
 * the expected answer, and the stamp that is found then (0: the key is absent).
 */
static bool is_changed(const struct audit *a, uint64_t key)
{
	static const struct step {
		enum map_action action;
		uint64_t stamp;
		enum map_answer answer;
		uint64_t found;
	} steps[] = {
		{ MAP_UPSERT, 1, MAP_PRESENT, 1 }, { MAP_INSERT, 2, MAP_PRESENT, 1 },
		{ MAP_REMOVE, 2, MAP_PRESENT, 0 }, { MAP_REMOVE, 2, MAP_ABSENT, 0 },
		{ MAP_INSERT, 3, MAP_ABSENT, 3 },  { MAP_REMOVE, 4, MAP_PRESENT, 0 },
		{ MAP_UPSERT, 5, MAP_ABSENT, 5 },  { MAP_UPSERT, 6, MAP_PRESENT, 6 },
	};
	uint64_t value[MAP_MOST_WORDS] = { 0 };

	for (size_t n = 0; n < sizeof(steps) / sizeof(steps[0]); n++) {
		const struct step *step = &steps[n];
		enum map_answer answer;

		for (unsigned w = 0; w < a->s->shape.words; w++)
			value[w] = mix_word(key, step->stamp, w);
		answer = act(a, step->action, key, value);
		if (answer == MAP_NO_MEMORY)
			return true;
		if (answer != step->answer ||
		    act(a, MAP_FIND, key, value) != (step->found ? MAP_PRESENT : MAP_ABSENT) ||
		    (step->found &&
		     (value[0] != mix_word(key, step->found, 0) || !is_of(a, key, value))))
			return false;
	}
	return true;
}

static const char *ask(const struct audit *a, char *sentence)
{
	const uint64_t range = a->s->mix.range, step = range / ASKED + 1;
	const char *failed = a->self->failed; /* memory may be used up by now */
	uint64_t wrong = 0, asked = 0, changed = 0;

	for (uint64_t i = 0; i < range; i += step, asked++)
		wrong += !is_found(a, i);
	if (wrong)
		snprintf(sentence, HASHMAP_SENTENCE,
			 "of %" PRIu64 " keys that were looked up, %" PRIu64
			 " are not found as the map holds them",
			 asked, wrong);
	for (uint64_t i = 0; !wrong && i < range && changed < CHANGED; i++) {
		if (!(a->seen[i / 8] >> i % 8 & 1))
			continue;
		changed++;
		if (is_changed(a, mix_key(i)))
			continue;
		wrong = 1;
		snprintf(sentence, HASHMAP_SENTENCE,
			 "key %" PRIu64 " is not as it was inserted, updated and removed, one "
			 "after the other",
			 i);
	}
	a->self->failed = failed;
	return wrong ? sentence : NULL;
}

const char *hashmap_verify(void *state, const struct trial *t)
{
	struct state *s = state;
	struct audit a = { .s = s,
			   .self = team_worker(t->team, 0),
			   .seen = calloc(s->mix.range / 8 + 1, 1) };
	const char *wrong;

	if (!a.seen)
		return "there is no memory to verify it";
	hashmap_begin(s, a.self);
	s->kind->each(s->map, a.self, look_at, &a);
	hashmap_end(s, a.self);
	wrong = judge(&a, s->sentence, hashmap_expected(s, t->threads), s->kind->size(s->map));
	hashmap_begin(s, a.self);
	wrong = wrong ? wrong : ask(&a, s->sentence);
	hashmap_end(s, a.self);
	free(a.seen);
	return wrong;
}
