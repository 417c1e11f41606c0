/* SPDX-License-Identifier: Apache-2.0 */
/* Fabric on ranks without a network: each kind of meeting ends, and a wrong message is noticed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bench/fabric/fabric.h"
#include "ranks.h"

enum { SIZE = 4096, PINGS = 20 };

static struct fabric *open_fabric(const struct trial *t)
{
	struct fabric *s = calloc(1, sizeof(*s));

	*s = (struct fabric){ .trial = t,
			      .ranks = t->ranks,
			      .pings = PINGS,
			      .rounds = t->ranks->ranks,
			      .room = 16,
			      .size = SIZE,
			      .out = malloc(SIZE),
			      .in = malloc((size_t)BULKS * SIZE),
			      .lap = calloc(PINGS, sizeof(double)),
			      .node = calloc(t->ranks->ranks, sizeof(int64_t)),
			      .met = calloc(16, sizeof(struct meeting)) };
	return s;
}

static void close_fabric(struct fabric *s)
{
	free(s->out);
	free(s->in);
	free(s->lap);
	free(s->node);
	free(s->met);
	free(s->fault);
	free(s);
}

static const struct way *const ways[] = { &way_loopback, &way_pairs, &way_bisection, &way_ring,
					  &way_loaded };

/* Three ranks: each pair meets once; under load each rank in turn has no partner. */
static int meet_in_each_way(const struct ranks *ranks)
{
	static const int64_t pairs[] = { RANKS, 3, 1, RANKS, 3 };
	const struct trial t = { .ranks = ranks, .seed = 7 };
	struct fabric *s = open_fabric(&t);
	int bad = 0;

	for (unsigned way = 0; way < sizeof(ways) / sizeof(*ways); way++) {
		int64_t n;

		s->n = 0;
		s->sample++;
		ways[way]->measure(s);
		n = s->n;
		for (unsigned i = 0; i < s->n; i++) {
			bad |= !(s->met[i].latency > 0) || !(s->met[i].tail >= s->met[i].latency);
			if (ways[way] == &way_loaded)
				bad |= !(s->met[i].factor > 0) || !(s->met[i].loaded > 0);
			else
				bad |= !(s->met[i].bandwidth > 0);
			bad |= (s->met[i].with == ranks->rank) != (ways[way] == &way_loopback);
		}
		ranks->sum(&n, 1);
		bad |= n != pairs[way];
	}
	bad |= s->fault != NULL;
	close_fabric(s);
	return bad;
}

static void every_way_ends_with_a_result(void **unused)
{
	(void)unused;
	assert_int_equal(on_all_ranks(meet_in_each_way, NULL, 0), 0);
}

/* --- a network that corrupts messages --- */

static size_t corrupt; /* the length of the messages that are corrupted */

static void send_corrupted(unsigned to, const void *bytes, size_t size)
{
	unsigned char *copy = malloc(size);

	memcpy(copy, bytes, size);
	copy[size - 1] ^= size == corrupt && me == 1;
	send_to(to, copy, size);
	free(copy);
}

static void swap_corrupted(unsigned to, const void *out, unsigned from, void *in, size_t size)
{
	send_corrupted(to, out, size);
	receive_from(from, in, size);
}

/* Rank 1's messages of one length are wrong: their receivers report it, and nobody else. */
static int notice(const struct ranks *ranks)
{
	struct ranks wrong = *ranks;
	const struct trial t = { .ranks = &wrong, .seed = 7 };
	const size_t lengths[] = { 8, SIZE };
	int bad = 0;

	wrong.send = send_corrupted;
	wrong.swap = swap_corrupted;
	for (unsigned way = 0; way < 4; way++)
		for (unsigned length = 0; length < 2; length++) {
			struct fabric *s = open_fabric(&t);
			int64_t told;

			corrupt = lengths[length];
			ways[way]->measure(s);
			told = s->fault != NULL;
			bad |= s->fault && !strstr(s->fault, "from rank 1 is not what was sent");
			bad |= s->fault && !strstr(s->fault, length ? "large" : "8 bytes");
			ranks->sum(&told, 1);
			bad |= told != (ways[way] == &way_pairs ? 2 : 1);
			close_fabric(s);
		}
	return bad;
}

static void a_wrong_message_is_noticed_by_its_receiver(void **unused)
{
	(void)unused;
	assert_int_equal(on_all_ranks(notice, NULL, 0), 0);
}

static void ranks_of_a_node_are_told_only_from_others(void **unused)
{
	int64_t node[] = { 0, 0, 2 };
	const struct ranks ranks = { .rank = 0, .ranks = 3 };
	struct fabric s = { .ranks = &ranks, .node = node, .several = true };

	(void)unused;
	assert_true(meet_is_here(&s, 1));
	assert_false(meet_is_here(&s, 0) || meet_is_here(&s, 2));
	s.several = false;
	assert_false(meet_is_here(&s, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_way_ends_with_a_result),
		cmocka_unit_test(a_wrong_message_is_noticed_by_its_receiver),
		cmocka_unit_test(ranks_of_a_node_are_told_only_from_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
