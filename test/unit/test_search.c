/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searchers: a dispatcher and its searchers, best, the check of their answers, and the times of a
 * sample.
 */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bench/search/searchers.h"
#include "bounded.h"
#include "cases.h"
#include "kit/random.h"
#include "suite.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static void *apart(size_t bytes)
{
	void *p = aligned_alloc(APART, (bytes + APART) / APART * APART);

	assert_non_null(p);
	return p;
}

/* ---- a dispatcher and searchers ---- */

enum { MOST_SEARCHERS = 9, PACKET = 33, STREAM = 60 * PACKET, ELEMENTS = 1000 };

/* A flow set up as in a trial, and all its data. */
struct run {
	struct flow flow;
	struct recipe recipe;
	struct ranges ranges;
	struct stream stream;
	struct outlet outlet[MOST_SEARCHERS];
	struct part part[MOST_SEARCHERS];
	void *array;
	_Atomic bool stop;
	struct searcher searcher[MOST_SEARCHERS];
	struct histogram times[MOST_SEARCHERS];
};

struct one {
	pthread_t thread;
	struct run *run;
	unsigned me;
};

static struct run *run_new(unsigned searchers, unsigned width, enum distribution distribution,
			   deal *deal, take *take)
{
	struct run *r = apart(sizeof(*r));

	memset(r, 0, sizeof(*r));
	r->recipe = recipe_of(3, ELEMENTS, width, distribution, 0.9);
	assert_int_equal(ranges_even(&r->ranges, &r->recipe, searchers), 0);
	r->array = apart(ELEMENTS * (size_t)width);
	recipe_fill_array(&r->recipe, r->array, 0, ELEMENTS, 0, ELEMENTS);
	r->stream = (struct stream){ .key = apart(STREAM * (size_t)width),
				     .keys = STREAM,
				     .packet = PACKET,
				     .width = width };
	recipe_fill_stream(&r->recipe, r->stream.key, 0, STREAM);
	for (unsigned i = 0; i < searchers; i++) {
		const size_t begin = deal == deal_in_turn ? 0 : r->ranges.begin[i],
			     end = deal == deal_in_turn ? ELEMENTS : r->ranges.begin[i + 1];

		r->searcher[i] =
			(struct searcher){ .ring = apart(ring_bytes(PACKET * (size_t)width)),
					   .copy = apart(packet_bytes(PACKET * (size_t)width)),
					   .answers = apart(PACKET * sizeof(uint32_t)),
					   .times = &r->times[i] };
		ring_open(r->searcher[i].ring, PACKET * (size_t)width);
		r->outlet[i].ring = r->searcher[i].ring;
		r->part[i] = (struct part){ (char *)r->array + begin * width, end - begin,
					    (uint32_t)begin };
	}
	r->flow = (struct flow){ .searchers = searchers,
				 .search = width == 4 ? search_branchy_32 : search_branchless_64,
				 .take = take,
				 .deal = deal,
				 .part = r->part,
				 .searcher = r->searcher,
				 .dealer = { .stream = &r->stream,
					     .ranges = &r->ranges,
					     .outlets = searchers,
					     .outlet = r->outlet } };
	return r;
}

static void run_free(struct run *r)
{
	for (unsigned i = 0; i < r->flow.searchers; i++) {
		free(r->searcher[i].ring);
		free(r->searcher[i].copy);
		free(r->searcher[i].answers);
	}
	ranges_free(&r->ranges);
	free(r->array);
	free(r->stream.key);
	free(r);
}

static void *search_all(void *argument)
{
	struct one *o = argument;

	flow_search(&o->run->flow, o->me);
	return NULL;
}

/* A dealer that stops itself after `until` packets: their number must not depend on time. */
static deal *dealing;
static uint64_t until;
static struct run *dealt_to;

static void deal_some(struct dealer *d)
{
	dealing(d);
	if (d->stream->dealt >= until)
		atomic_store(&dealt_to->stop, true);
}

static uint64_t sample(struct run *r, uint64_t packets)
{
	struct one of[MOST_SEARCHERS];
	uint64_t done;

	dealing = r->flow.deal;
	dealt_to = r;
	until = r->stream.dealt + packets;
	atomic_store(&r->stop, false);
	flow_reset(&r->flow);
	r->flow.deal = deal_some;
	for (unsigned i = 0; i < r->flow.searchers; i++) {
		of[i] = (struct one){ .run = r, .me = i };
		assert_int_equal(pthread_create(&of[i].thread, NULL, search_all, &of[i]), 0);
	}
	done = flow_deal(&r->flow, &r->stop);
	for (unsigned i = 0; i < r->flow.searchers; i++)
		pthread_join(of[i].thread, NULL);
	r->flow.deal = dealing;
	return done;
}

/* Checks the answers of all samples, without a team. */
static void check_answers(const struct run *r)
{
	const uint64_t dealt = r->stream.dealt * PACKET;
	uint64_t sum = 0, keys = 0, wanted = 0;

	for (uint64_t i = 0; i < dealt; i++)
		wanted += search_reference(&r->recipe, r->array,
					   key_get(&r->recipe, r->stream.key, i % STREAM));
	for (unsigned i = 0; i < r->flow.searchers; i++) {
		const struct searcher *s = &r->searcher[i];

		sum += s->sum;
		keys += s->keys;
		assert_true(ring_is_empty(s->ring));
		for (size_t j = 0; s->last && j < s->last_keys; j++)
			assert_int_equal(s->answers[j],
					 search_reference(&r->recipe, r->array,
							  key_get(&r->recipe, s->last, j)));
	}
	assert_int_equal(keys, dealt);
	assert_int_equal(sum, wanted);
}

struct path {
	const char *name;
	deal *deal[2];
	take *take;
};
static const struct path paths[] = {
	{ "in_turn", { deal_in_turn, deal_in_turn }, take_own },
	{ "by_range", { deal_by_range_32, deal_by_range_64 }, take_own },
	{ "stolen", { deal_by_range_32, deal_by_range_64 }, take_any },
};

static void every_key_is_answered_on(const struct path *path, unsigned cpus)
{
	static const unsigned numbers[] = { 1, 2, 3, MOST_SEARCHERS };
	/* on an emulated processor many searchers that wait for each other take seconds */
	const size_t few = LENGTH(numbers) - (getenv("LOCUS_EMULATED") ? 1 : 0);
	cpu_set_t all, one;

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	one = all;
	for (int cpu = 0, left = (int)cpus; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &one) && left-- <= 0)
			CPU_CLR(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	for (size_t n = 0; n < few; n++)
		for (unsigned type = 0; type < 2; type++)
			for (unsigned d = DISTRIBUTION_UNIFORM; d <= DISTRIBUTION_HOT; d++) {
				struct run *r = run_new(numbers[n], type ? 8 : 4, d,
							path->deal[type], path->take);

				/* 71 packets: the second sample goes beyond the stream's 60 */
				for (unsigned i = 0; i < 3; i++)
					assert_int_equal(sample(r, 1 + 70 * i), 1 + 70 * i);
				check_answers(r);
				run_free(r);
			}
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

static void every_key_is_answered(void **state)
{
	every_key_is_answered_on(*state, CPU_SETSIZE);
}

static void every_key_is_answered_on_one_cpu(void **state)
{
	every_key_is_answered_on(*state, 1);
}

/* With hot keys nearly all belong to the first owner; each other owner gets its own. */
static void owners_get_what_is_theirs(void **state)
{
	struct run *r = run_new(4, 4, DISTRIBUTION_HOT, deal_by_range_32, take_own);

	(void)state;
	sample(r, 600);
	check_answers(r);
	assert_true(r->searcher[0].keys > 0.85 * 600 * PACKET);
	for (unsigned i = 1; i < 4; i++)
		assert_true(r->searcher[i].keys > 0);
	run_free(r);
}

/* If dealt in turn, all searchers get equally many keys. */
static void turns_are_fair(void **state)
{
	struct run *r = run_new(3, 8, DISTRIBUTION_HOT, deal_in_turn, take_own);

	(void)state;
	sample(r, 300);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(r->searcher[i].keys, 100 * PACKET);
	run_free(r);
}

/* ---- best ---- */

/* Replaces the tree: notes the arguments of calls, and answers a packet with its number. */
static struct {
	uint64_t packets;
	uint32_t packet;
	const void *keys;
} noted;

static void note_call(const struct tree *tree, const void *keys, size_t count, uint32_t packet,
		      uint32_t *answers)
{
	(void)tree;
	assert_int_equal(packet, noted.packet);
	assert_int_equal(count % packet, 0);
	for (size_t i = 0; i < count; i++)
		answers[i] = (uint32_t)(noted.packets + i / packet);
	noted.packets += count / packet;
	noted.keys = (const uint32_t *)keys + count - packet;
}

/*
 * Batches of best are packets of the stream, like those of whole: their ratio compares equal
 * packets.
 */
static void best_searches_packets_of_the_stream(void **state)
{
	static const uint32_t packets[] = { 1, 33, 128, 5000, 20000 };
	enum { KEYS = 60000 };
	uint32_t *keys = apart(KEYS * sizeof(*keys));

	(void)state;
	for (size_t i = 0; i < LENGTH(packets); i++) {
		const uint32_t packet = packets[i];
		const size_t of_stream = KEYS / packet * packet, n = KEYS / packet + 1;
		uint32_t *answers = apart((size_t)packets_timed(packet) * packet * 4);
		struct searcher *s = apart(sizeof(*s));
		struct stream stream = { .key = (unsigned char *)keys,
					 .keys = of_stream,
					 .packet = packet,
					 .width = sizeof(*keys) };

		*s = (struct searcher){ .answers = answers };
		noted.packets = 0;
		noted.packet = packet;
		best_search(s, note_call, &stream, n);
		assert_int_equal(noted.packets, n);
		/* the stream has one packet less, so this is its first packet again */
		assert_ptr_equal(noted.keys, keys);
		assert_ptr_equal(s->last, keys);
		assert_int_equal(s->last_keys, packet);
		assert_int_equal(s->keys, n * packet);
		assert_int_equal(s->sum, (uint64_t)packet * n * (n - 1) / 2);
		free(s);
		free(answers);
	}
	free(keys);
}

/* ---- verification ---- */

struct judged {
	struct verification verification;
	unsigned threads;
	const char *wrong;
};

static int judge(struct team *team, void *argument)
{
	struct judged *j = argument;
	const int cpu = sched_getcpu();
	const struct place place[] = { { cpu, 0 }, { cpu, 0 }, { cpu, 0 } };
	unsigned culprit;

	assert_int_equal(team_seat(team, place, j->threads, &culprit), 0);
	j->wrong = search_verify(&j->verification, team, j->threads);
	return 0;
}

static const char *verdict(const struct run *r, unsigned threads)
{
	struct judged j = { .threads = threads,
			    .verification = { .recipe = &r->recipe,
					      .array = r->array,
					      .stream = &r->stream,
					      .streams = 1,
					      .searcher = r->searcher,
					      .searchers = r->flow.searchers } };

	cpu_set_t all;

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	assert_int_equal(team_open(threads, judge, &j), 0);
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	return j.wrong;
}

static void mistakes_are_found(void **state)
{
	struct run *r = run_new(3, 4, DISTRIBUTION_UNIFORM, deal_by_range_32, take_own);
	uint32_t *array = r->array, was;

	(void)state;
	assert_null(verdict(r, 2));
	sample(r, 100);
	for (unsigned threads = 1; threads <= 3; threads++)
		assert_null(verdict(r, threads));
	r->searcher[1].keys--;
	assert_non_null(strstr(verdict(r, 2), "numbers of keys sent and answered differ"));
	r->searcher[1].keys++;
	r->searcher[2].sum++;
	assert_non_null(strstr(verdict(r, 2), "sum"));
	r->searcher[2].sum--;
	r->searcher[0].answers[0] ^= 1;
	assert_non_null(strstr(verdict(r, 2), "last packet"));
	r->searcher[0].answers[0] ^= 1;
	was = array[ELEMENTS / 2];
	array[ELEMENTS / 2] = UINT32_MAX;
	assert_non_null(strstr(verdict(r, 2), "sorted"));
	array[ELEMENTS / 2] = was;
	assert_null(verdict(r, 2));
	run_free(r);
}

/*
 * Zeros at the front leave the array sorted and the answers consistent, but make searches faster:
 * verification must notice that it is not the generated array.
 */
static void another_array_is_noticed(void **state)
{
	struct run *r = run_new(3, 4, DISTRIBUTION_UNIFORM, deal_by_range_32, take_own);

	(void)state;
	memset(r->array, 0, ELEMENTS / 4 * sizeof(uint32_t));
	sample(r, 100);
	for (unsigned threads = 1; threads <= 3; threads++)
		assert_non_null(strstr(verdict(r, threads), "was generated"));
	run_free(r);
}

/* ---- times of packets ---- */

/* Notes packets of one key, each of which took `ticks`. */
static void take_times(struct searcher *s, unsigned packets, uint64_t ticks)
{
	for (unsigned i = 0; i < packets; i++)
		searcher_note(s, NULL, 1, 1, ticks);
}

/* Quantiles are over all packets: a searcher weighs by its number of packets. */
static void times_are_of_all_packets(void **state)
{
	uint32_t answer = 0;
	struct histogram *times = apart_alloc(4 * sizeof(*times)), *all = &times[3];
	struct searcher s[3] = { { .answers = &answer, .times = &times[0] },
				 { .answers = &answer, .times = &times[1] },
				 { .answers = &answer, .times = &times[2] } };
	const double tick[] = { 1e-9, 1e-9, 2e-9 };
	struct packet_times found = packet_times(&s[1], &tick[1], 1, all);

	(void)state;
	assert_true(isnan(found.p99) && isnan(found.deviation) && !histogram_total(all));
	take_times(&s[0], 98000, 10);
	take_times(&s[2], 2000, 50);
	searcher_note(&s[2], NULL, 1, 2, 1000); /* an incomplete packet is not counted */
	found = packet_times(s, tick, 3, all);
	assert_int_equal(histogram_total(all), 100000);
	assert_true(fabs(histogram_quantile(all, 0.5) / 10e-9 - 1) < 1. / 64);
	assert_true(fabs(found.p99 / 100e-9 - 1) < 1. / 64);
	/* in ns: 98 % at 10, 2 % at 100 */
	assert_true(fabs(found.deviation / (90e-9 * sqrt(0.98 * 0.02)) - 1) < 1e-9);
	take_times(&s[0], 200000, 10);
	assert_true(fabs(packet_times(s, tick, 3, all).p99 / 10e-9 - 1) < 1. / 64);
	/* a new sample begins without times of the last one */
	for (unsigned i = 0; i < 3; i++)
		searcher_begin(&s[i]);
	take_times(&s[1], 3, 20);
	found = packet_times(s, tick, 3, all);
	assert_int_equal(histogram_total(all), 3);
	assert_true(fabs(found.p99 / 20e-9 - 1) < 1. / 64 && found.deviation < 1e-15);
	free(times);
}

/* ---- the table ---- */

static void add(struct suite *s, const char *subject, const char *what, CMUnitTestFunction function,
		const void *row)
{
	suite_add(s, subject, what, function, begin_bounded, end_bounded, row);
}

#define ADD(FUNCTION) add(&s, "", #FUNCTION, FUNCTION, NULL)

int main(void)
{
	static struct suite s;

	for (size_t i = 0; i < LENGTH(paths); i++) {
		add(&s, paths[i].name, "every_key_is_answered", every_key_is_answered, &paths[i]);
		add(&s, paths[i].name, "every_key_is_answered_on_one_cpu",
		    every_key_is_answered_on_one_cpu, &paths[i]);
	}
	ADD(owners_get_what_is_theirs);
	ADD(turns_are_fair);
	ADD(best_searches_packets_of_the_stream);
	ADD(mistakes_are_found);
	ADD(another_array_is_noticed);
	ADD(times_are_of_all_packets);
	return _cmocka_run_group_tests("search", s.test, s.n, NULL, NULL);
}
