/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Search over ranks: every key is answered once and correctly, whichever rank owns it, in rounds of
 * any length.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bench/search/searchers.h"
#include "bench/search/remote.h"
#include "cases.h"
#include "kit/agree.h"
#include "machine/threads/affinity.h"
#include "machine/topology/topology.h"
#include "ranks.h"

enum { PACKET = 16, KEYS = 50 * PACKET };

static struct setting {
	size_t n;
	unsigned width, threads;
	/* packets of keys that each thread looks up; beyond its end the stream starts over */
	uint32_t packets;
	enum distribution distribution;
} setting;

struct all {
	struct remote remote;
	struct recipe recipe;
	const struct ranks *ranks;
};

/* Memory to be freed at the end of a search. */
static void *memory[32];
static unsigned pieces;

static void *apart(size_t bytes)
{
	void *p = apart_alloc(bytes);

	if (!p || pieces == sizeof(memory) / sizeof(*memory))
		abort();
	return memory[pieces++] = p;
}

static void plant(struct all *a, struct tree *tree)
{
	const struct ranges *r = a->remote.ranges;
	const unsigned rank = rank_of(a->ranks);
	const size_t n = r->begin[rank + 1] - r->begin[rank],
		     padded = tree_padded(n, setting.width);
	void *part = apart(padded * setting.width), *above = apart(tree_bytes(n, setting.width));

	recipe_fill_array(&a->recipe, part, r->begin[rank], n, 0, padded);
	tree_build(tree, part, n, setting.width, above);
	a->remote.tree = tree;
	a->remote.search = tree_searcher(setting.width, ISA_BASELINE);
}

static void work(void *argument, struct worker *self)
{
	remote_search(&((struct all *)argument)->remote, self, setting.packets);
}

/* Returns 0, or a number for what is wrong; counts in `others` the keys that other ranks own. */
static int check(struct all *a, int64_t *others)
{
	const struct remote *r = &a->remote;
	const unsigned rank = rank_of(a->ranks);
	uint64_t wanted = 0, sum = 0, keys = 0, last = 0;

	for (unsigned i = 0; i < setting.threads; i++) {
		for (size_t j = 0; j < setting.packets * (size_t)PACKET; j++) {
			const size_t right = search_reference(
				&a->recipe, NULL, key_get(&a->recipe, r->stream[i].key, j % KEYS));

			wanted += right;
			/*
			 * the owner of element `right` owns the key; beyond the array, the last
			 * rank does
			 */
			*others += right < r->ranges->begin[rank] ||
				   (right >= r->ranges->begin[rank + 1] &&
				    rank + 1 < r->ranges->parts);
		}
		sum += r->searcher[i].sum;
		keys += r->searcher[i].keys;
		for (size_t j = 0; j < r->searcher[i].last_keys; j++)
			if (r->searcher[i].answers[j] !=
			    search_reference(&a->recipe, NULL,
					     key_get(&a->recipe, r->searcher[i].last, j)))
				return 1;
		last += r->searcher[i].last_keys;
	}
	if (keys != (uint64_t)setting.threads * setting.packets * PACKET || sum != wanted)
		return 2;
	return !setting.packets || last ? 0 : 3;
}

static int search_in(struct team *team, void *argument)
{
	struct all *a = argument;
	struct remote *r = &a->remote;
	const unsigned ranks = ranks_of(a->ranks), rank = rank_of(a->ranks);
	const bool wide = setting.width == sizeof(uint64_t);
	const struct place here = { sched_getcpu(), 0 }, place[2] = { here, here };
	struct ranges ranges;
	struct tree tree;
	unsigned culprit;
	int64_t sent[2] = { 0 };
	int wrong;

	if (team_seat(team, place, setting.threads, &culprit) ||
	    ranges_even(&ranges, &a->recipe, ranks))
		return 10;
	*r = (struct remote){ .ranks = a->ranks,
			      .team = team,
			      .ranges = &ranges,
			      .threads = setting.threads,
			      .find_owners = wide ? find_owners_64 : find_owners_32,
			      .hand_out = wide ? hand_out_64 : hand_out_32,
			      .stream = apart(setting.threads * sizeof(*r->stream)),
			      .searcher = apart(setting.threads * sizeof(*r->searcher)) };
	for (unsigned i = 0; i < setting.threads; i++) {
		r->stream[i] = (struct stream){ .key = apart((size_t)KEYS * setting.width),
						.keys = KEYS,
						.packet = PACKET,
						.width = setting.width };
		recipe_fill_stream(&a->recipe, r->stream[i].key, rank * setting.threads + i, KEYS);
	}
	plant(a, &tree);
	remote_open(r, apart(remote_bytes(ranks, setting.threads, PACKET, setting.width)));
	team_run(team, work, a);
	wrong = check(a, &sent[0]);
	sent[0] *= setting.width + (int64_t)sizeof(uint32_t);
	sent[1] = (int64_t)r->sent;
	if (a->ranks)
		a->ranks->sum(sent, 2);
	while (pieces)
		free(memory[--pieces]);
	ranges_free(&ranges);
	return wrong ? wrong : sent[0] == sent[1] || !a->ranks ? 0 : 4;
}

static int search_on(const struct ranks *ranks)
{
	struct all a = { .ranks = ranks,
			 .recipe = recipe_of(3, setting.n, setting.width, setting.distribution,
					     setting.distribution == DISTRIBUTION_HOT ? 0.9 : 1) };

	return team_open(setting.threads, search_in, &a);
}

static int alone_and_together(const struct ranks *ranks)
{
	const int wrong = search_on(NULL);

	return wrong ? 100 + wrong : search_on(ranks);
}

static void test_every_key_is_answered_by_its_owner(void **state)
{
	static const size_t sizes[] = { 3, 100, 12345 };
	static const uint32_t packets[] = { 0, 1, 65, 150 };

	(void)state;
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (unsigned j = 0; j < sizeof(packets) / sizeof(*packets); j++)
			for (unsigned n = 0; n < 6 && n < cases(12); n++) {
				/*
				 * k steps so that each value of width, threads and distribution
				 * meets each other one
				 */
				const unsigned k = (i + j + 5 * n) % 12;

				setting =
					(struct setting){ sizes[i], k % 2 ? 4 : 8, 1 + k / 2 % 2,
							  packets[j], (enum distribution)(k / 4) };
				print_message("%zu elements of %u bytes, %u threads, %u packets, "
					      "distribution %u\n",
					      setting.n, setting.width, setting.threads,
					      setting.packets, setting.distribution);
				assert_int_equal(on_all_ranks(alone_and_together, NULL, 0), 0);
			}
}

static void test_rounds_are_bounded(void **state)
{
	(void)state;
	for (unsigned ranks = 1; ranks < 100000; ranks *= 3)
		for (unsigned threads = 1; threads < 300; threads *= 3) {
			const size_t room = (size_t)remote_packets(ranks, threads, 128, 8) * ranks *
					    threads * 128 * 8;

			assert_true(remote_packets(ranks, threads, 128, 8) >= 1);
			assert_true(room <= 64 << 20 ||
				    remote_packets(ranks, threads, 128, 8) == 1);
			assert_true(remote_bytes(ranks, threads, 128, 8) >= room);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_key_is_answered_by_its_owner),
		cmocka_unit_test(test_rounds_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
