/* SPDX-License-Identifier: Apache-2.0 */
/* core-to-core: exchanges of lines, how transfers are counted, and on which lines pairs meet. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bench/core-to-core/core-to-core.h"
#include "by_hand.h"
#include "harness/plan/plan.h"
#include "suite.h"
#include "tasks.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* ---- exchanges ---- */

struct protocol {
	const char *name;
	exchange *run;
	uint64_t least; /* turns; their number must be a multiple of this */
};
static const struct protocol protocols[] = {
	{ "exchange_compare_exchange", exchange_compare_exchange, 2 },
	{ "exchange_store_load", exchange_store_load, 2 },
	{ "exchange_two_lines", exchange_two_lines, 2 },
	{ "exchange_message", exchange_message, RING },
};

struct meeting {
	const struct protocol *protocol;
	struct lines *lines;
	uint64_t turns;
};

static void *play(void *argument)
{
	struct task *t = argument;
	const struct meeting *m = t->about;

	m->protocol->run(m->lines, t->index, m->turns);
	return NULL;
}

/* Both sides end, and restore the lines, so that the next exchange can use them. */
static void gives_to_and_fro_on(const struct protocol *protocol, unsigned cpus)
{
	const uint64_t turns[] = { protocol->least, 2 * protocol->least, 3 * protocol->least,
				   9 * RING };
	struct meeting m = { .protocol = protocol,
			     .lines = aligned_alloc(APART, sizeof(*m.lines)) };

	assert_non_null(m.lines);
	memset(m.lines, 0, sizeof(*m.lines));
	run_on(cpus);
	for (size_t i = 0; i < LENGTH(turns); i++) {
		m.turns = turns[i];
		end_tasks(begin_tasks(2, play, &m), 2);
		for (unsigned j = 0; j < RING; j++)
			assert_int_equal(m.lines->line[j].word, 0);
		assert_int_equal(m.lines->taken, 0);
	}
	/* payloads are sequence numbers: the ring holds the last RING of 2 * turns */
	if (protocol->run == exchange_message)
		for (uint64_t j = 0; j < RING; j++)
			for (unsigned k = 0; k < LENGTH(m.lines->line[0].payload); k++)
				assert_int_equal(m.lines->line[j].payload[k],
						 2 * m.turns - RING + j);
	free(m.lines);
}

static void gives_to_and_fro(void **state)
{
	gives_to_and_fro_on(*state, CPU_SETSIZE);
}

static void gives_to_and_fro_on_one_cpu(void **state)
{
	gives_to_and_fro_on(*state, 1);
}

/* ---- counting transfers: the kernel plays against the other side's protocol, written here ---- */

/*
 * Takes a turn of the other side, if it is its turn. Returns the transfers of the line caused by
 * this turn and the kernel's turn before it; 0: it is not the other side's turn.
 */
static unsigned give_back_word(struct lines *l, uint64_t turns)
{
	(void)turns;
	if (atomic_load(&l->line[0].word) != 1)
		return 0;
	atomic_store(&l->line[0].word, 0);
	return 2;
}

static unsigned answer_on_own_line(struct lines *l, uint64_t turns)
{
	(void)turns;
	if (atomic_load(&l->line[0].word) == atomic_load(&l->line[1].word))
		return 0;
	atomic_store(&l->line[1].word, atomic_load(&l->line[0].word));
	return 2;
}

static unsigned take_line(struct lines *l, uint64_t turns)
{
	if (atomic_load(&l->line[turns % RING].word) == turns / RING % 2)
		return 0;
	atomic_store(&l->taken, turns + 1);
	return 1;
}

/* In the order of the parameter's choices. */
static const struct {
	const char *name;
	unsigned (*turn)(struct lines *, uint64_t turns);
} others[] = {
	{ "compare-exchange", give_back_word },
	{ "store-load", give_back_word },
	{ "two-lines", answer_on_own_line },
	{ "message", take_line },
};

struct seat_at_a_table {
	void *state;
	struct worker worker;
	_Atomic bool up;
};

static void *transfer(void *argument)
{
	struct task *t = argument;
	struct seat_at_a_table *seat = t->about;

	core_to_core_benchmark.ops.work(seat->state, &seat->worker);
	atomic_store(&seat->up, true);
	return NULL;
}

static void transfers_are_all_counted(void **state)
{
	static const uint64_t counts[] = { 1, 16, 17, 100 };
	enum { MEETING = 3, TABLE = 1 };

	(void)state;
	for (unsigned i = 0; i < LENGTH(others); i++) {
		struct trial_by_hand h;
		struct seat_at_a_table seat = { 0 };
		struct lines *lines;

		prepare(&h, &core_to_core_benchmark, "ping-pong", 4, "protocol", i);
		lines = core_to_core_lines(h.state, MEETING, TABLE);
		for (unsigned j = 0; j < LENGTH(counts); j++) {
			uint64_t turns = 0, handed = 0;
			struct task *task;
			bool up = false;

			seat.state = h.state;
			seat.worker = (struct worker){
				.threads = 4, .group = TABLE, .meeting = MEETING, .count = counts[j]
			};
			atomic_store(&seat.up, false);
			task = begin_tasks(1, transfer, &seat);
			for (unsigned n; (n = others[i].turn(lines, turns)) || !up;
			     turns += n > 0, handed += n) {
				if (n)
					continue;
				/* try once more: it may have played before it raised `up` */
				up = atomic_load(&seat.up);
				sched_yield();
			}
			end_tasks(task, 1);
			atomic_store(&lines->taken, 0);
			assert_int_equal(seat.worker.done, handed);
			assert_in_range(handed, counts[j], counts[j] + 2 * RING - 1);
		}
		release(&h);
	}
}

/* Each pair has its own lines at each meeting. */
static void places_are_all_different(void **state)
{
	struct trial_by_hand h;
	struct core_to_core *players;

	(void)state;
	prepare(&h, &core_to_core_benchmark, "ping-pong", 9, "protocol", 0);
	players = h.state;
	assert_int_equal(players->tables, 4);
	assert_int_equal(players->meetings, 16);
	for (unsigned meeting = 0; meeting < 16; meeting++)
		for (unsigned table = 0; table < 4; table++) {
			struct lines *l = core_to_core_lines(players, meeting, table);

			assert_int_equal(l->taken, 0);
			l->taken = 1;
		}
	for (unsigned i = 0; i < 16 * 4; i++)
		assert_int_equal(players->lines[i].taken, 1);
	assert_int_equal(core_to_core_benchmark.needs(&h.trial).bytes,
			 16 * 4 * sizeof(struct lines));
	release(&h);
}

/*
 * In a batch, a pair meets on the lines of every place: otherwise its number would depend on the L3
 * slices of its few lines.
 */
static void places_change_from_round_to_round(void **state)
{
	enum { PLAYERS = 9, MEETINGS = 16 };
	static unsigned sat[PLAYERS][PLAYERS]; /* places by pair: a bit for each */
	const unsigned rounds = tournament_rounds(PLAYERS);
	struct trial_by_hand h;
	struct core_to_core *c;

	(void)state;
	prepare(&h, &core_to_core_benchmark, "ping-pong", PLAYERS, "protocol", 0);
	c = h.state;
	for (unsigned i = 0; i < MEETINGS * rounds; i++) {
		unsigned taken = 0;

		core_to_core_benchmark.ops.reset(c);
		for (unsigned slot = 0, pair = 0, a, b; slot < tournament_slots(PLAYERS); slot++) {
			const unsigned meeting = i / rounds;
			size_t place;

			if (!tournament_pair(PLAYERS, i % rounds, slot, &a, &b))
				continue;
			place = (size_t)(core_to_core_lines(c, meeting, pair++) - c->lines) -
				(size_t)meeting * c->tables;
			assert_in_range(place, 0, c->tables - 1);
			assert_false(taken & 1u << place); /* no two pairs share a line */
			taken |= 1u << place;
			sat[a][b] |= 1u << place;
		}
	}
	for (unsigned a = 0; a < PLAYERS; a++)
		for (unsigned b = a + 1; b < PLAYERS; b++)
			assert_int_equal(sat[a][b], (1u << c->tables) - 1);
	release(&h);
}

/* Whoever held a line before: a pair has exchanged all of its lines before its time begins. */
static int begin_a_round(struct team *team, void *of)
{
	struct trial_by_hand *h = of;

	h->trial.team = team;
	((struct core_to_core *)h->state)->team = team;
	for (unsigned i = 0; i < 3; i++) {
		team_worker(team, i)->group = i < 2 ? 0 : TEAM_IDLE;
		team_worker(team, i)->role = i;
		team_worker(team, i)->meeting = 5;
	}
	core_to_core_benchmark.ops.reset(h->state);
	return 0;
}

static void lines_are_taken_over_before_the_time_begins(void **state)
{
	struct trial_by_hand h;
	const struct lines *l;

	(void)state;
	prepare(&h, &core_to_core_benchmark, "ping-pong", 3, "protocol", 3);
	l = core_to_core_lines(h.state, 5, 0);
	assert_int_equal(l->line[0].payload[0], 0);
	assert_int_equal(team_open(3, begin_a_round, &h), 0);
	for (unsigned i = 0; i < RING; i++) /* messages are numbered */
		assert_int_equal(l->line[i].payload[6], RING + i);
	release(&h);
}

/* ---- the table ---- */

static void add(struct suite *s, const char *subject, const char *what, CMUnitTestFunction function,
		const void *row)
{
	suite_add(s, subject, what, function, begin_bounded, end_on_all, row);
}

int main(void)
{
	static struct suite s;

	for (size_t i = 0; i < LENGTH(protocols); i++) {
		add(&s, protocols[i].name, "gives_to_and_fro", gives_to_and_fro, &protocols[i]);
		add(&s, protocols[i].name, "gives_to_and_fro_on_one_cpu",
		    gives_to_and_fro_on_one_cpu, &protocols[i]);
	}
	add(&s, "transfers", "are_all_counted", transfers_are_all_counted, NULL);
	add(&s, "places", "of_lines_are_all_different", places_are_all_different, NULL);
	add(&s, "places", "change_from_round_to_round", places_change_from_round_to_round, NULL);
	add(&s, "lines", "are_taken_over_before_the_time_begins",
	    lines_are_taken_over_before_the_time_begins, NULL);
	return _cmocka_run_group_tests("core_to_core", s.test, s.n, remember_cpus, NULL);
}
