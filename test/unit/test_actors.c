/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Actors, however they are run: each message is handled once, messages of one sender in order, and
 * an actor handles one at a time. Actors count in plain memory, so ThreadSanitizer reports two at a
 * time as a race. A lost wake-up would leave threads asleep for ever: the alarm ends the test.
 */
#include <string.h>
#include <unistd.h>

#include "bench/actors/bodies.h"
#include "cases.h"
#include "bounded.h"
#include "crews.h"

enum { ACTORS = 12, MESSAGES = 40, HOPS = 300 };

/* How many letters each actor sent to each other one, and how many were handled: [from][to]. */
struct books {
	struct actor *actor;
	uint64_t sent[ACTORS][ACTORS], handled[ACTORS][ACTORS];
	bool busy[ACTORS];
	unsigned (*target)(struct crew_hand *, unsigned from, const struct message *);
	uint64_t hops, stop_at;
	_Atomic uint64_t left, wrong, all;
};

struct letter {
	struct message message;
	unsigned from;
	uint64_t number;
};

static unsigned number_of(const struct books *b, const struct actor *a)
{
	return (unsigned)(a - b->actor);
}

/* Addresses a letter, and numbers it within those from this sender to this receiver. */
static void write_letter(struct books *b, struct letter *l, unsigned from, unsigned to)
{
	l->from = from;
	l->number = b->sent[from][to]++;
}

static void handle(void *argument, struct crew_hand *h, struct actor *a, struct message *m)
{
	struct books *b = argument;
	struct letter *l = (struct letter *)(void *)m;
	const unsigned me = number_of(b, a);
	unsigned to;

	b->wrong += b->busy[me] || l->number != b->handled[l->from][me]++;
	b->busy[me] = true;
	if (++b->all == b->stop_at)
		crew_stop(h->crew);
	if (++m->hops < b->hops) {
		to = b->target(h, me, m);
		write_letter(b, l, me, to);
		crew_send(h, m, &b->actor[to]);
	} else if (--b->left == 0) {
		crew_stop(h->crew);
	}
	b->busy[me] = false;
}

static unsigned to_random(struct crew_hand *h, unsigned from, const struct message *m)
{
	(void)from, (void)m;
	return crew_draw(h, ACTORS);
}

static unsigned to_self(struct crew_hand *h, unsigned from, const struct message *m)
{
	(void)h, (void)m;
	return from;
}

static unsigned to_next(struct crew_hand *h, unsigned from, const struct message *m)
{
	(void)h, (void)m;
	return (from + 1) % ACTORS;
}

/* Half of all letters go to the first actor, which must keep up. */
static unsigned to_the_first(struct crew_hand *h, unsigned from, const struct message *m)
{
	return crew_draw(h, 2) ? 0 : to_random(h, from, m);
}

static void check_books(const struct books *b, uint64_t all)
{
	assert_int_equal(b->wrong, 0);
	assert_int_equal(b->all, all);
	for (unsigned i = 0; i < ACTORS; i++)
		for (unsigned j = 0; j < ACTORS; j++)
			assert_int_equal(b->sent[i][j], b->handled[i][j]);
}

/* Actors have letters to themselves in their mailboxes before threads run. */
static void seed(struct crew *c, struct books *b, struct letter *letter)
{
	memset(letter, 0, MESSAGES * sizeof(*letter));
	for (unsigned i = 0; i < MESSAGES; i++) {
		const unsigned to = i % ACTORS;

		write_letter(b, &letter[i], to, to);
		crew_seed(c, b->actor[to].home, &letter[i].message, &b->actor[to]);
	}
	b->left = MESSAGES;
}

static void run_books(const struct crews_kind *kind, unsigned threads, unsigned spins,
		      unsigned batch,
		      unsigned (*target)(struct crew_hand *, unsigned, const struct message *))
{
	struct letter letter[MESSAGES];
	struct books b = { .target = target, .hops = HOPS };
	struct crew_world w;

	crews_open(&w, kind,
		   &(struct crew){ .threads = threads,
				   .actors = ACTORS,
				   .body = handle,
				   .argument = &b,
				   .spins = spins,
				   .batch = batch });
	b.actor = w.actor;
	for (unsigned run = 1; run <= 3; run++) {
		crew_start(&w.crew);
		seed(&w.crew, &b, letter);
		crews_run(&w.crew);
		check_books(&b, (uint64_t)run * MESSAGES * HOPS);
	}
	crew_world_close(&w);
}

static void test_each_message_once_and_in_order(void **state)
{
	static unsigned (*const target[])(struct crew_hand *, unsigned,
					  const struct message *) = { to_self, to_random, to_next,
								      to_the_first };

	(void)state;
	for (unsigned k = 0; k < crews_number(); k++)
		for (unsigned n = 0; n < 4; n++)
			for (unsigned threads = 1; threads <= CREWS_THREADS; threads *= 2)
				run_books(&crews[k], threads, n % 2 ? 0 : 50, 1 + n / 2 * 4,
					  target[n]);
}

/* Letters in mailboxes when the crew is stopped are handled when it runs again. */
static void test_stopped_with_messages_under_way(void **state)
{
	(void)state;
	for (unsigned k = 0; k < crews_number(); k++) {
		struct letter letter[MESSAGES];
		struct books b = { .target = to_random, .hops = HOPS };
		struct crew_world w;
		unsigned runs = 0;

		crews_open(&w, &crews[k],
			   &(struct crew){ .threads = CREWS_THREADS,
					   .actors = ACTORS,
					   .body = handle,
					   .argument = &b,
					   .spins = 20 });
		b.actor = w.actor;
		seed(&w.crew, &b, letter);
		for (; b.left; runs++) {
			b.stop_at = b.all + HOPS;
			crews_run(&w.crew);
		}
		check_books(&b, MESSAGES * HOPS);
		assert_true(runs > 1);
		crew_world_close(&w);
	}
}

/* One actor sends all its messages at once, and continues when they have come back. */
struct flood {
	struct actor *actor;
	struct message *first; /* messages that the sender holds */
	uint64_t rounds, back;
	_Atomic uint64_t received;
};

static void flood(void *argument, struct crew_hand *h, struct actor *a, struct message *m)
{
	struct flood *f = argument;

	if (a != f->actor) {
		f->received++;
		crew_send(h, m, f->actor);
		return;
	}
	m->next = f->first;
	f->first = m;
	if (++f->back % MESSAGES)
		return;
	if (!f->rounds--) {
		crew_stop(h->crew);
		return;
	}
	while ((m = f->first)) {
		f->first = m->next;
		crew_send(h, m, f->actor + 1);
	}
}

static void test_a_flood_is_bounded_by_the_memory_of_who_sends(void **state)
{
	enum { ROUNDS = 50 };

	(void)state;
	for (unsigned k = 0; k < crews_number(); k++) {
		struct message message[MESSAGES];
		struct flood f = { .rounds = ROUNDS };
		struct crew_world w;

		memset(message, 0, sizeof(message));
		crews_open(&w, &crews[k],
			   &(struct crew){ .threads = 2,
					   .actors = 2,
					   .body = flood,
					   .argument = &f,
					   .spins = 20 });
		f.actor = w.actor;
		for (unsigned i = 0; i < MESSAGES; i++)
			crew_seed(&w.crew, 0, &message[i], &w.actor[0]);
		crews_run(&w.crew);
		assert_int_equal(f.received, ROUNDS * MESSAGES);
		crew_world_close(&w);
	}
}

/* The state follows from the number of handled messages, so it can be verified. */
static void test_bodies(void **state)
{
	enum { WORDS = 16, ENTRIES = 100, RAN = 500 };
	uint32_t words[WORDS] = { 0 };
	struct bodies_map *map = calloc(1, bodies_map_bytes(ENTRIES));

	(void)state;
	assert_non_null(map);
	assert_true(bodies_map_fill(map, ENTRIES));
	for (uint64_t i = 1; i <= RAN; i++) {
		bodies_walk(words, WORDS, 8, i);
		assert_true(bodies_map_use(map, i));
	}
	assert_true(bodies_walked(words, WORDS, 8, RAN));
	assert_true(bodies_map_right(map, RAN));
	for (unsigned i = 0; i < WORDS; i++)
		assert_true(words[i] > RAN * 8 / WORDS / 2);
	words[3]--;
	assert_false(bodies_walked(words, WORDS, 8, RAN));
	assert_false(bodies_map_right(map, RAN - 1));
	bodies_map_clear(map);
	free(map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_message_once_and_in_order),
		cmocka_unit_test(test_stopped_with_messages_under_way),
		cmocka_unit_test(test_a_flood_is_bounded_by_the_memory_of_who_sends),
		cmocka_unit_test(test_bodies),
	};

	return cmocka_run_group_tests(tests, begin_bounded, NULL);
}
