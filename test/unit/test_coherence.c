/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coherence: which workers own, take and share lines in a round, and which combinations of
 * parameters make no sense.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bench/coherence/coherence.h"
#include "benchmarks.h"
#include "bounded.h"
#include "machine/memory/arena.h"
#include "machine/topology/topology.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

struct by_hand {
	struct trial trial;
	union value value[4];
	struct place place[8];
	void *state;
	const char *variant;
	unsigned which, sharers;
};

enum { STATE, SHARERS, LINES }; /* of the parameters */
enum { HERE = 16 };

static void open_trial(struct by_hand *h, struct team *team, unsigned threads)
{
	const char *error;

	h->value[STATE].choice = h->which;
	h->value[SHARERS].count = h->sharers;
	h->value[LINES].count = HERE;
	h->trial = (struct trial){ .benchmark = &coherence_benchmark,
				   .variant = coherence_benchmark.variants,
				   .value = h->value,
				   .threads = threads,
				   .place = h->place,
				   .team = team,
				   .oversubscribed = true,
				   .machine = machine_open("core:8 pu:1", &error) };
	while (strcmp(h->trial.variant->name, h->variant))
		h->trial.variant++;
	assert_non_null(h->trial.machine);
	h->trial.arena = arena_open(h->trial.machine);
	assert_non_null(h->trial.arena);
	h->state = coherence_benchmark.ops.prepare(&h->trial);
	assert_non_null(h->state);
}

static void close_trial(struct by_hand *h)
{
	free(h->state);
	arena_close(h->trial.arena);
	machine_close((struct machine *)h->trial.machine);
}

/*
 * Workers 0 and 1 are a pair, and so are 3 and 2; 4 is alone. In odd meetings the sides are
 * exchanged.
 */
static void seat(struct team *team, unsigned meeting)
{
	static const unsigned group[] = { 0, 0, 1, 1, TEAM_IDLE }, side[] = { 0, 1, 1, 0, 0 };

	for (unsigned i = 0; i < LENGTH(group); i++) {
		struct worker *w = team_worker(team, i);

		w->index = i; /* nobody is pinned here */
		w->group = group[i];
		w->role = side[i] ^ (meeting & 1);
		w->count = 100;
		w->done = 0;
	}
}

/* How often the lines of a pair were evicted, and what number they held then. (-Wl,--wrap) */
static struct {
	_Atomic unsigned times;
	_Atomic uint64_t laid;
} evicted[2];
static struct coherence *_Atomic played;

void __real_lines_flush(const struct lines *);
void __wrap_lines_flush(const struct lines *);
void __wrap_lines_flush(const struct lines *l)
{
	struct coherence *c = played;

	for (unsigned i = 0; c && i < 2; i++)
		if (l == &coherence_block(c, i)->lines) {
			evicted[i].times++;
			evicted[i].laid = coherence_block(c, i)->laid;
		}
	__real_lines_flush(l);
}

/*
 * Lines are brought into their state twice a round. A cache that evicted them loads them again as
 * the only owner, or leaves them in memory; modified lines stay with their writer.
 */
static void expect_evictions(const struct by_hand *h, unsigned rounds)
{
	for (unsigned i = 0; i < 2; i++) {
		const bool stay = h->which == STATE_MODIFIED;

		assert_int_equal(evicted[i].times, stay ? 0 : 2 * rounds);
		/* after they were last laid */
		assert_int_equal(evicted[i].laid, stay ? 0 : 2 * rounds);
	}
}

static const struct ops *ops_of(const struct by_hand *h)
{
	return h->trial.variant->ops ? h->trial.variant->ops : &coherence_benchmark.ops;
}

static void work(void *argument, struct worker *w)
{
	const struct by_hand *h = argument;

	if (w->group != TEAM_IDLE)
		ops_of(h)->work(h->state, w);
}

static int play(struct team *team, void *argument)
{
	struct by_hand *h = argument;
	const bool stream = strcmp(h->variant, "load") && strcmp(h->variant, "store");
	struct coherence *c;

	open_trial(h, team, 5);
	c = h->state;
	assert_int_equal(c->blocks, 2);
	memset(evicted, 0, sizeof(evicted));
	played = stream ? NULL : c;
	for (unsigned round = 0; round < 4; round++) {
		seat(team, round);
		ops_of(h)->reset(c);
		for (unsigned pair = 0; pair < 2 && !stream; pair++) {
			const struct block *b = coherence_block(c, pair);
			const unsigned one = pair ? 3 : 0, other = pair ? 2 : 1;

			assert_int_equal(b->worker[SIDE_OWNER], round & 1 ? other : one);
			assert_int_equal(b->worker[SIDE_TAKER], round & 1 ? one : other);
			assert_int_equal(histogram_total(&b->single), HERE);
			assert_int_equal(b->laid, 2 * (round + 1));
			/* the stores of the noting walk are gone */
			assert_ptr_equal(walk_load(lines_first(&b->lines), HERE, NULL), b->end);
		}
		team_run(team, work, h);
		for (unsigned i = 0; i < 5; i++)
			assert_int_equal(team_worker(team, i)->done, i == 4   ? 0
								     : stream ? 100
									      : HERE);
		assert_null(ops_of(h)->verify(c, &h->trial));
		if (!stream)
			expect_evictions(h, round + 1);
	}
	played = NULL;
	return 0;
}

static void pairs_take_lines_in_each_state(void **state)
{
	static const struct by_hand rows[] = {
		{ .variant = "load", .which = STATE_MODIFIED, .sharers = 0 },
		{ .variant = "load", .which = STATE_MODIFIED, .sharers = 3 },
		{ .variant = "load", .which = STATE_EXCLUSIVE, .sharers = 1 },
		{ .variant = "load", .which = STATE_MEMORY, .sharers = 0 },
		{ .variant = "store", .which = STATE_MODIFIED, .sharers = 0 },
		{ .variant = "store", .which = STATE_EXCLUSIVE, .sharers = 0 },
		{ .variant = "store", .which = STATE_BOTH, .sharers = 2 },
		{ .variant = "store", .which = STATE_MEMORY, .sharers = 0 },
		{ .variant = "stream" },
		{ .variant = "memset" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct by_hand h = rows[i];

		if (h.which != STATE_MODIFIED && !lines_can_flush())
			continue;
		assert_int_equal(team_open(5, play, &h), 0);
		close_trial(&h);
	}
}

/* The answer of verify() if one line of a block is wrong. */
static void a_wrong_line_is_told(void **state)
{
	struct by_hand h = { .variant = "store" };
	struct coherence *c;
	struct block *b;

	(void)state;
	assert_int_equal(team_open(5, play, &h), 0);
	c = h.state;
	b = &c->block[1];
	atomic_store(&lines_first(&b->lines)->next, NULL);
	assert_string_equal(coherence_benchmark.ops.verify(c, &h.trial),
			    "a line lacks a store of the thread that took it");
	b->wrong = true;
	assert_string_equal(coherence_benchmark.ops.verify(c, &h.trial),
			    "a thread did not read what the other had written");
	close_trial(&h);
}

/* `sharers` of n workers share a block: those after the owner, without the taker. */
static void the_next_workers_share(void **state)
{
	(void)state;
	for (unsigned n = 2; n < 8; n++)
		for (unsigned owner = 0; owner < n; owner++)
			for (unsigned step = 1; step < n; step++)
				for (unsigned sharers = 0; sharers <= n - 2; sharers++) {
					const unsigned taker = (owner + step) % n;
					const struct coherence c = { .threads = n,
								     .sharers = sharers };
					const struct block b = { .worker = { owner, taker } };
					unsigned found = 0, last = 0;

					assert_false(coherence_shares(&c, &b, owner));
					assert_false(coherence_shares(&c, &b, taker));
					for (unsigned i = 1; i < n; i++)
						if (coherence_shares(&c, &b, (owner + i) % n)) {
							found++;
							last = i;
						}
					assert_int_equal(found, sharers);
					assert_in_range(last, 0, sharers + 1);
				}
}

static void a_block_that_no_pair_has_is_shared_by_nobody(void **state)
{
	const struct coherence c = { .threads = 5, .sharers = 3 };
	const struct block b = { .worker = { TEAM_IDLE, TEAM_IDLE } };

	(void)state;
	for (unsigned i = 0; i < 5; i++)
		assert_false(coherence_shares(&c, &b, i));
}

/* ---- what makes no sense ---- */

static void combinations_without_a_sense_are_left_out(void **state)
{
	static const struct {
		unsigned variant, threads, choice, sharers, lines;
		const char *why; /* NULL: it has one */
	} rows[] = {
		{ 0, 2, STATE_MODIFIED, 0, 16, NULL },
		{ 0, 1, STATE_MODIFIED, 0, 16, "two threads" },
		{ 0, 2000, STATE_MODIFIED, 0, 16, "1024" },
		{ 0, 2, STATE_MODIFIED, 0, 15, "--lines" },
		{ 0, 2, STATE_MODIFIED, 0, (1 << 20) + 1, "--lines" },
		{ 0, 2, STATE_MODIFIED, 1, 16, "--sharers" },
		{ 0, 3, STATE_MODIFIED, 1, 16, NULL },
		{ 0, 3, STATE_MEMORY, 1, 16, "no cache" },
		{ 0, 3, STATE_BOTH, 0, 16, "own cache" },
		{ 1, 3, STATE_BOTH, 1, 16, NULL },
		{ 2, 2, 0, 0, 16, NULL },
		{ 2, 2, 0, 0, 1, "--lines" },
	};
	const char *error;
	struct machine *m = machine_open("core:4 pu:1", &error);

	(void)state;
	assert_non_null(m);
	for (size_t i = 0; i < LENGTH(rows); i++) {
		const union value value[] = { [STATE] = { .choice = rows[i].choice },
					      [SHARERS] = { .count = rows[i].sharers },
					      [LINES] = { .count = rows[i].lines } };
		const struct trial t = { .benchmark = &coherence_benchmark,
					 .variant = &coherence_benchmark.variants[rows[i].variant],
					 .value = value,
					 .threads = rows[i].threads,
					 .machine = m };
		const struct needs needs = coherence_benchmark.needs(&t);

		if (rows[i].why) {
			assert_non_null(needs.pointless);
			assert_non_null(strstr(needs.pointless, rows[i].why));
		} else {
			assert_null(needs.pointless);
			assert_int_equal(needs.bytes,
					 rows[i].threads / 2 * rows[i].lines * machine_apart(m));
		}
	}
	machine_close(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_take_lines_in_each_state),
		cmocka_unit_test(a_wrong_line_is_told),
		cmocka_unit_test(the_next_workers_share),
		cmocka_unit_test(a_block_that_no_pair_has_is_shared_by_nobody),
		cmocka_unit_test(combinations_without_a_sense_are_left_out),
	};

	return cmocka_run_group_tests(tests, begin_bounded, end_bounded);
}
