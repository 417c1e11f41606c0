/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports of a sample; and the check after the last one: each key is there once, with a value that
 * was written for it, and the number of keys is right.
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
	unsigned char *seen; /* one bit per key */
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
