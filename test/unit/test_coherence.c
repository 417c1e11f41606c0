/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coherence: the machine code of its walks, that a walk ends where it should only if each line is
 * new, who owns, takes and shares lines in a round, and streams.
 */
#include <pthread.h>
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
#include "code.h"
#include "machine/memory/arena.h"
#include "machine/topology/topology.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* ---- machine code ---- */

#define FILLED(STORE) ARITHMETIC "|" STORE, { STORE }
static const struct shape shapes[] = {
#if defined(__x86_64__)
	{ "walk_load", LOOP, ARITHMETIC, { "mov \\((" R ")\\)," R } },
	{ "walk_store", LOOP, ARITHMETIC, { "xchg " R ",\\(" R "\\)" } },
	{ "walk_load_noting", LOOP, ".*", { "lfence", "rdtsc", "mov \\(" R "\\)," R } },
	{ "walk_store_noting", LOOP, ".*", { "lfence", "rdtsc", "xchg " R ",\\(" R "\\)" } },
	{ "stream_fill_baseline", LOOP, FILLED("v?mov[a-z]+ %xmm[0-9]+," AT) },
	{ "stream_fill_avx2", LOOP, FILLED("vmov[a-z0-9]+ %ymm[0-9]+," AT) },
	{ "stream_fill_avx512", LOOP, FILLED("vmov[a-z0-9]+ %zmm[0-9]+," AT) },
	{ "stream_sum",
	  LOOP,
	  ARITHMETIC "|v?mov[a-z]+ " AT "," R "|v?paddq .*", /* no sum is in memory */
	  { "v?paddq .*" } },
#elif defined(__aarch64__)
	{ "walk_load", LOOP, ARITHMETIC, { "ldr x[0-9]+, \\[x[0-9]+\\]" } },
	/* of ARMv8.1, a call that chooses it at run time, or a store with reservation */
	{ "walk_store",
	  LOOP,
	  ARITHMETIC "|ldxr .*",
	  { "swp .*|" CALL("__aarch64_swp8_[a-z_]+") "|stxr .*" } },
	{ "walk_load_noting", LOOP, ".*", { "isb", "mrs .*", "ldr x[0-9]+, \\[x[0-9]+\\]" } },
	{ "stream_fill_baseline", LOOP, FILLED("st[pr] q.*") },
	{ "stream_sum", LOOP, ARITHMETIC "|ld[pr] q.*|add v.*", { "ld[pr] q.*", "add v.*" } },
#endif
};

static void loops_are_what_was_meant(void **state)
{
	(void)state;
	have_the_shapes_that_were_meant(shapes, LENGTH(shapes));
}

/* ---- walks ---- */

enum { APART_IN_TEST = 128, MOST = 300 };
static _Alignas(APART_IN_TEST) char memory[MOST * APART_IN_TEST];

static struct lines lines_of(size_t n)
{
	memset(memory, 0, sizeof(memory));
	return (struct lines){ memory, n, APART_IN_TEST, n };
}

/* What is measured, and what notes the ticks. */
static struct link *walk_all(const struct lines *l, bool noting)
{
	static struct histogram ticks;
	struct link *end;

	if (!noting)
		return walk_load(lines_first(l), l->n, NULL);
	histogram_clear(&ticks);
	end = walk_load_noting(lines_first(l), l->n, NULL, &ticks);
	assert_int_equal(histogram_total(&ticks), l->n);
	return end;
}

static void a_walk_goes_over_each_line_and_ends_at_its_end(void **state)
{
	static const size_t sizes[] = { 2, 3, 16, 255, 256, MOST };

	(void)state;
	for (size_t i = 0; i < LENGTH(sizes); i++) {
		const struct lines l = lines_of(sizes[i]);
		struct link *before = NULL;

		for (uint64_t number = 0; number < 15; number++) {
			struct link *end = lines_lay(&l, number);

			assert_ptr_not_equal(end, before);
			before = end;
			assert_ptr_equal(walk_all(&l, false), end);
			assert_ptr_equal(walk_all(&l, true), end);
			assert_false(lines_hold(&l, end));
			assert_ptr_equal(walk_store(lines_first(&l), l.n, end), end);
			assert_true(lines_hold(&l, end)); /* so each line was there once */
		}
	}
}

/* Lines are not where a prefetcher would look: neighbours in memory are none on the walk. */
static void neighbours_are_apart(void **state)
{
	const struct lines l = lines_of(256);
	const char *at;
	unsigned beside = 0;

	(void)state;
	lines_lay(&l, 0);
	at = (const char *)lines_first(&l);
	for (size_t i = 1; i < l.n; i++) {
		const char *next = (const char *)atomic_load(&((struct link *)at)->next);

		beside += llabs(next - at) <= 2 * APART_IN_TEST;
		at = next;
	}
	assert_in_range(beside, 0, l.n / 8);
}

static void a_line_that_is_not_new_is_noticed(void **state)
{
	static struct histogram ticks;
	const struct lines l = lines_of(64);

	(void)state;
	for (uint64_t number = 1; number < 9; number++) {
		struct link *old, *end, *line = lines_first(&l);

		lines_lay(&l, number - 1);
		for (unsigned i = 0; i < 20; i++)
			line = atomic_load(&line->next);
		old = atomic_load(&line->next);
		end = lines_lay(&l, number);
		atomic_store(&line->next, old);
		assert_ptr_not_equal(walk_load(lines_first(&l), l.n, NULL), end);
		/* all lines are old */
		lines_lay(&l, number - 1);
		assert_ptr_not_equal(walk_load(lines_first(&l), l.n, NULL), end);
		assert_ptr_not_equal(walk_store_noting(lines_first(&l), l.n, end, &ticks), end);
		assert_int_equal(histogram_total(&ticks), number * l.n);
	}
}

static void flushed_lines_keep_what_they_hold(void **state)
{
	const struct lines l = lines_of(64);
	struct link *end = lines_lay(&l, 1);

	(void)state;
	if (!lines_can_flush()) {
		print_message("skipped: no instruction is known here that flushes a line\n");
		skip();
	}
	lines_flush(&l);
	assert_ptr_equal(walk_all(&l, false), end);
}

/* ---- rounds ---- */

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

/* Workers 0 and 1 are a pair, 3 and 2 another; 4 is alone. In odd meetings sides are exchanged. */
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

/* How often the lines of a pair were evicted, and what number they had then. (-Wl,--wrap) */
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
 * the only one, or leaves them in memory; modified ones stay with who wrote them.
 */
static void expect_evictions(const struct by_hand *h, unsigned rounds)
{
	for (unsigned i = 0; i < 2; i++) {
		const bool stay = h->which == STATE_MODIFIED;

		assert_int_equal(evicted[i].times, stay ? 0 : 2 * rounds);
		/* after they were laid the last time */
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
			/* what the noting walk stored is gone */
			assert_ptr_equal(walk_load(lines_first(&b->lines), HERE, NULL), b->end);
		}
		team_run(team, work, h);
		for (unsigned i = 0; i < 5; i++)
			assert_int_equal(team_worker(team, i)->done,
					 i == 4	  ? 0
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

/* What verify() says if one line of a block is not what it should be. */
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

/* Of n workers, `sharers` share a block: the next ones after the owner, without the taker. */
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
			assert_int_equal(needs.bytes, rows[i].threads / 2 * rows[i].lines *
							      machine_apart(m));
		}
	}
	machine_close(m);
}

/* ---- streams ---- */

enum { PART = 3 * STREAM_STEP, PARTS = 1000 };
static _Alignas(STREAM_STEP) char buffer[STREAM_PARTS * PART];

static void *send(void *stream)
{
	stream_write(stream, PARTS);
	return NULL;
}

static void a_stream_arrives_whole(void **state)
{
	static struct stream s = { stream_fill_baseline, buffer, PART };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		pthread_t thread;

		stream_restart(&s);
		assert_int_equal(pthread_create(&thread, NULL, send, &s), 0);
		stream_read(&s, PARTS);
		pthread_join(thread, NULL);
		assert_false(s.wrong);
		assert_int_equal(atomic_load(&s.taken), PARTS);
	}
}

static void a_part_of_an_earlier_lap_is_noticed(void **state)
{
	static struct stream s = { stream_fill_baseline, buffer, PART };

	(void)state;
	stream_fill_baseline(buffer + 2 * PART, PART, 7);
	assert_int_equal(stream_sum(buffer + 2 * PART, PART), 7 * PART / sizeof(uint64_t));
	stream_fill_baseline(buffer + PART, PART, UINT64_C(0x0101010101010101));
	atomic_store(&s.written, 1);
	stream_read(&s, 1);
	assert_false(s.wrong);
	atomic_store(&s.written, 2);
	stream_read(&s, 2);
	assert_true(s.wrong);
}

static void each_width_of_stores_fills_a_part(void **state)
{
	(void)state;
	stream_fill_widest(buffer, PART, UINT64_C(0x123456789));
	assert_true(stream_sum(buffer, PART) == UINT64_C(0x123456789) * (PART / 8));
	stream_fill_memset(buffer, PART, UINT64_C(0x0707070707070707));
	assert_true(stream_sum(buffer, PART) == UINT64_C(0x0707070707070707) * (PART / 8));
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2")) {
		stream_fill_avx2(buffer, PART, 3);
		assert_int_equal(stream_sum(buffer, PART), 3 * PART / 8);
	}
#endif
	stream_fill_baseline(buffer, PART, 5);
	assert_int_equal(stream_sum(buffer, PART), 5 * PART / 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loops_are_what_was_meant),
		cmocka_unit_test(a_walk_goes_over_each_line_and_ends_at_its_end),
		cmocka_unit_test(neighbours_are_apart),
		cmocka_unit_test(a_line_that_is_not_new_is_noticed),
		cmocka_unit_test(flushed_lines_keep_what_they_hold),
		cmocka_unit_test(pairs_take_lines_in_each_state),
		cmocka_unit_test(a_wrong_line_is_told),
		cmocka_unit_test(the_next_workers_share),
		cmocka_unit_test(a_block_that_no_pair_has_is_shared_by_nobody),
		cmocka_unit_test(combinations_without_a_sense_are_left_out),
		cmocka_unit_test(a_stream_arrives_whole),
		cmocka_unit_test(a_part_of_an_earlier_lap_is_noticed),
		cmocka_unit_test(each_width_of_stores_fills_a_part),
	};

	return cmocka_run_group_tests(tests, begin_bounded, end_bounded);
}
