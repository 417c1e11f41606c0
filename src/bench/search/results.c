/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of a sample; and the check of all answers after the last one. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/apart.h"
#include "base/arithmetic.h"
#include "bench/search/search.h"
#include "bench/search/searchers.h"
#include "kit/shares.h"
#include "machine/clock.h"

/*
 * The dispatcher is the bottleneck if searchers waited for more than this share of their time, and
 * the dispatcher for less than this share of its own.
 */
#define WAITED 0.05

enum {
	SEARCH_TIME,
	KEY_TIME,
	SEARCH_MEDIAN,
	SEARCH_P99,
	SEARCH_DEVIATION,
	THROUGHPUT,
	WAITING,
	HELD_UP,
	DISPATCHER_BOUND,
	IMBALANCE,
	IDLE_SHARE,
	BUILD_TIME,
	OVERHEAD,
	COMMUNICATION,
	WIRE,
	LIMIT
};
const struct metric search_metrics[SEARCH_METRICS] = {
	[SEARCH_TIME] = { "search-time", "s", "time to search a packet, without waiting",
			  LOWER_IS_BETTER, NULL },
	[KEY_TIME] = { "key-time", "s", "time to search for a key, without waiting",
		       LOWER_IS_BETTER, NULL },
	[SEARCH_MEDIAN] = { "search-median", "s", "median of the packets' search-time",
			    LOWER_IS_BETTER, .kind = M_DISTRIBUTION },
	[SEARCH_P99] = { "search-p99", "s", "99th percentile of the packets' search-time",
			 LOWER_IS_BETTER, NULL },
	[SEARCH_DEVIATION] = { "search-deviation", "s",
			       "standard deviation of the packets' search-time", LOWER_IS_BETTER,
			       NULL },
	[THROUGHPUT] = { "throughput", "key/s",
			 "keys answered by all searchers together, end to end", HIGHER_IS_BETTER,
			 keys_a_unit },
	[WAITING] = { "waiting", "1", "share of the searchers' time in which they had no packet",
		      LOWER_IS_BETTER, NULL },
	[HELD_UP] = { "held-up", "1",
		      "share of the dispatcher's time in which a searcher's ring was full",
		      NEITHER_IS_BETTER, NULL },
	[DISPATCHER_BOUND] = { "dispatcher-bound", "1",
			       "1 if the dispatcher was too slow (searchers waited over 5 % of "
			       "their time, and it was held up for less), else 0",
			       NEITHER_IS_BETTER, NULL },
	[IMBALANCE] = { "imbalance", "1",
			"keys of the busiest searcher (distributed: rank) over the mean",
			LOWER_IS_BETTER, .kind = M_IMBALANCE },
	[IDLE_SHARE] = { "idle", "1",
			 "share of its time in which the least busy searcher had no packet",
			 LOWER_IS_BETTER, NULL },
	[BUILD_TIME] = { "build-time", "s",
			 "time to build the tree; partitioned: time to group a sample's keys by "
			 "range",
			 LOWER_IS_BETTER, NULL },
	[OVERHEAD] = { "overhead", "1", "extra memory of the tree over the array's memory",
		       LOWER_IS_BETTER, NULL },
	[COMMUNICATION] = { "communication", "s",
			    "time per packet in MPI calls, on the rank that waits least",
			    LOWER_IS_BETTER, NULL },
	[WIRE] = { "wire", "B", "mean bytes sent between ranks for a key and its answer",
		   NEITHER_IS_BETTER, NULL },
	[LIMIT] = { "limit", "key/s",
		    "upper limit of throughput, if searching cost nothing: memory bandwidth for a "
		    "line per key; between ranks, MPI bandwidth for the key and its answer",
		    HIGHER_IS_BETTER, NULL },
	TIME_METRIC("packet"),
};

/*
 * Seconds per tick on a searcher's CPU in this sample, from the harness's clock over the same
 * interval.
 */
static double s_per_tick(const struct state *s, const struct trial *t, unsigned searcher)
{
	const struct attendance *a = team_attendance(t->team, dispatchers_of(t) + searcher);
	const struct timesheet *timesheet = &s->searcher[searcher].timesheet;

	return (a->end - a->begin) / (double)(timesheet->ended - timesheet->began);
}

/* Totals, means and extremes over all searchers. */
struct totals {
	/* s, of all; mean and largest share of the time; s, of the slowest searcher */
	double searching, waited, most_waited, partitioned;
	uint64_t keys;
};

static struct totals add_up(const struct state *s, const struct trial *t)
{
	struct totals sum = { 0 };

	for (unsigned i = 0; i < s->searchers; i++) {
		const struct timesheet *one = &s->searcher[i].timesheet;
		const double waited = (double)one->waiting / (double)(one->ended - one->began),
			     tick = s_per_tick(s, t, i);

		sum.searching += (double)one->searching * tick;
		sum.waited += waited / s->searchers;
		sum.most_waited = fmax(sum.most_waited, waited);
		sum.partitioned = fmax(sum.partitioned, (double)one->partitioning * tick);
		sum.keys += one->keys;
	}
	return sum;
}

enum {
	FETCHED = 1 << 16, /* keys a thread, of 2^20 at least: 1 ms or less from memory */
	TIMES = 4,	   /* how often the rounds are sent again */
};

static void fetch_lines(void *state, struct worker *self)
{
	struct state *s = state;
	struct searcher *searcher = &s->searcher[self->index];
	const struct stream *stream = &s->stream[self->index];
	const size_t left = stream->keys - stream->at, first = left < FETCHED ? 0 : stream->at;
	double began;

	team_barrier(s->team);
	began = clock_now();
	s->fetch(s->array, s->recipe.n, stream->key + first * stream->width, FETCHED);
	searcher->fetched = FETCHED / (clock_now() - began);
}

/*
 * The limit of `throughput` if searching cost nothing, in key/s: how many lines all threads
 * together can fetch, right after a sample. For each key of its stream, a thread loads an array
 * line near the answer. No load waits for another.
 */
static double limit_of_memory(struct state *s)
{
	double sum = 0;

	team_run(s->team, fetch_lines, s);
	for (unsigned i = 0; i < s->searchers; i++)
		sum += s->searcher[i].fetched;
	return sum;
}

/*
 * key/s that MPI carries among all ranks: the keys and answers of the sample's last rounds are sent
 * again, by worker 0 of each rank, and nobody searches. NAN: there is no other rank.
 */
static double limit_of_wire(struct state *s)
{
	const struct ranks *ranks = s->remote.ranks;
	uint64_t keys = 0;
	int64_t all;
	double time;

	if (ranks_of(ranks) == 1)
		return NAN;
	time = clock_now();
	for (unsigned i = 0; i < TIMES; i++)
		keys += remote_carry(&s->remote);
	time = clock_now() - time;
	all = (int64_t)keys;
	ranks->sum(&all, 1);
	ranks->most(&time, 1);
	return (double)all / time;
}

static void collect_packets(const struct state *s, const struct trial *t, struct result *result)
{
	struct histogram *all = &s->times[s->searchers];
	struct packet_times packet;
	double tick[t->threads];

	for (unsigned i = 0; i < s->searchers; i++)
		tick[i] = s_per_tick(s, t, i);
	packet = packet_times(s->searcher, tick, s->searchers, all);
	report_distribution(result, SEARCH_MEDIAN, all, 1);
	report(result, SEARCH_P99, packet.p99);
	report(result, SEARCH_DEVIATION, packet.deviation);
}

static void collect_flow(const struct state *s, const struct totals *sum, struct result *result)
{
	const double held = (double)s->flow.dealer.held / (double)(s->flow.ended - s->flow.began);

	report(result, WAITING, sum->waited);
	report(result, HELD_UP, held);
	report(result, DISPATCHER_BOUND, sum->waited > WAITED && held < WAITED);
	report(result, IDLE_SHARE, sum->most_waited);
}

/* Reports totals over all ranks, since a rank also looks up the keys of others. */
static void collect_remote(struct state *s, const struct trial *t, const struct totals *of_rank,
			   struct result *result)
{
	int64_t of_all[] = { llround(of_rank->searching * 1e9), (int64_t)of_rank->keys,
			     (int64_t)s->remote.sent };
	double busiest = (double)of_rank->keys;

	if (t->ranks) {
		t->ranks->sum(of_all, LENGTH(of_all));
		t->ranks->most(&busiest, 1);
	}
	report(result, SEARCH_TIME,
	       (double)of_all[0] * 1e-9 / (double)of_all[1] * (double)t->value[PACKET].count);
	report(result, KEY_TIME, (double)of_all[0] * 1e-9 / (double)of_all[1]);
	report(result, IMBALANCE, busiest * ranks_of(t->ranks) / (double)of_all[1]);
	report(result, BUILD_TIME, s->build_time);
	report(result, COMMUNICATION, communicated(result) / (double)team_worker(t->team, 0)->done);
	report(result, WIRE, (double)of_all[2] / (double)of_all[1]);
	report(result, LIMIT, limit_of_wire(s));
}

void search_collect(void *state, const struct trial *t, struct result *result)
{
	struct state *s = state;
	const struct totals sum = add_up(s, t);
	const double keys = (double)sum.keys, bytes = (double)s->recipe.n * s->recipe.width;

	if (s->way->kind == REMOTE) {
		collect_remote(s, t, &sum, result);
		return;
	}
	report(result, SEARCH_TIME, sum.searching / keys * (double)t->value[PACKET].count);
	report(result, KEY_TIME, sum.searching / keys);
	if (!s->way->tree) /* in a tree, many packets are timed together */
		collect_packets(s, t, result);
	for (unsigned i = 0; s->way->kind != OWN && i < s->searchers; i++)
		report_by_worker(result, IMBALANCE, t->threads - s->searchers + i,
				 (double)s->searcher[i].timesheet.keys);
	if (s->way->kind == FLOW)
		collect_flow(s, &sum, result);
	if (s->way->kind == PARTITION)
		report(result, BUILD_TIME, sum.partitioned);
	if (s->way->kind == OWN) {
		report(result, BUILD_TIME, s->build_time);
		report(result, LIMIT, limit_of_memory(s));
	}
	if (s->way->tree)
		report(result, OVERHEAD,
		       (double)(s->padded * s->recipe.width + s->copies * s->copy->tree.bytes) /
				       bytes -
			       1);
}

/* ---- the check ---- */

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

/* One thread's findings. */
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
 * once in every full round of the stream, and once more if they lie before its position.
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
