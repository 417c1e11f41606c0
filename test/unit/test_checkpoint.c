/* SPDX-License-Identifier: Apache-2.0 */
/* A trial of checkpoint: where counters lie, and that lost ticks and wrong strings are noticed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bench/checkpoint/kernels.h"
#include "benchmarks.h"
#include "cases.h"
#include "kit/loop.h"
#include "machine/memory/arena.h"
#include "machine/memory/mapped.h"
#include "machine/threads/affinity.h"
#include "machine/topology/topology.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* ---- layouts ---- */

static const union value ticking[] = { { .count = 0 }, { .count = 256 }, { .choice = 0 } };

static bool lacking(const struct variant *v)
{
	return v->available && v->available();
}

static const struct variant *variant(const char *name)
{
	const struct variant *v = checkpoint_benchmark.variants;

	while (strcmp(v->name, name))
		v++;
	return v;
}

/* Bytes of the first thread's counters, and from one thread's counters to the next one's. */
static void layouts_are_what_they_say(void **state)
{
	static const size_t lines[] = { 32, 64, 128, 256 };
	const char *error;
	struct machine *m = machine_open("core:8 pu:1", &error);

	(void)state;
	assert_non_null(m);
	for (size_t i = 0; i < LENGTH(lines); i++) {
		const size_t apart = 2 * lines[i] < 128 ? 128 : 2 * lines[i];
		const struct {
			const char *variant;
			size_t first, next;
		} table[] = { { "together", 16, 0 },
			      { "quadwords", 24, 0 },
			      { "apart", apart + 8, 0 },
			      { "per-thread-dense", 16, 16 },
			      { "per-thread", 16, apart },
			      { "per-cpu", 16 + (cpuset_room() - 1) * apart, 0 },
			      { "best", 16, apart } };

		m->line = lines[i];
		for (size_t j = 0; j < LENGTH(table); j++)
			for (unsigned threads = 1; threads <= 8; threads++) {
				const struct trial trial = { .machine = m,
							     .variant = variant(table[j].variant),
							     .value = ticking,
							     .threads = threads };

				assert_int_equal(checkpoint_benchmark.needs(&trial).bytes,
						 table[j].first + (threads - 1) * table[j].next +
							 (size_t)threads * STRINGS * STRING);
			}
	}
	machine_close(m);
}

enum { THREADS = 3, TICKS_EACH = 1000 };
static _Atomic bool stop;

/* Takes a sample by hand: the workers run one after the other, the first one `times` times. */
static void sample(void *s, unsigned times)
{
	checkpoint_benchmark.ops.reset(s);
	for (unsigned i = 0; i < THREADS; i++) {
		struct worker w = {
			.index = i, .threads = THREADS, .count = TICKS_EACH + i, .stop = &stop
		};

		for (unsigned j = 0; j < (i ? 1 : times); j++)
			checkpoint_benchmark.ops.work(s, &w);
		assert_int_equal(w.done, TICKS_EACH + i);
	}
}

/* A trial without the harness. */
struct by_hand {
	struct trial trial;
	union value value[3];
	struct place place[THREADS];
	void *state;
};

static void begin(struct by_hand *h, const struct variant *v, unsigned body)
{
	const char *error;
	struct machine *machine = machine_open("core:3 pu:1", &error);

	assert_non_null(machine);
	*h = (struct by_hand){ .value = { { .count = 0 }, { .count = 256 }, { .choice = body } } };
	h->trial = (struct trial){ .benchmark = &checkpoint_benchmark,
				   .variant = v,
				   .value = h->value,
				   .threads = THREADS,
				   .place = h->place,
				   .machine = machine,
				   .arena = arena_open(machine) };
	h->state = checkpoint_benchmark.ops.prepare(&h->trial);
	assert_non_null(h->state);
	for (unsigned i = 0; i < THREADS; i++)
		checkpoint_benchmark.ops.enter(h->state,
					       &(struct worker){ .index = i, .threads = THREADS });
}

static bool right(const struct by_hand *h)
{
	return checkpoint_benchmark.ops.verify(h->state, &h->trial) == NULL;
}

static void end(struct by_hand *h)
{
	checkpoint_benchmark.ops.release(h->state);
	arena_close(h->trial.arena);
	machine_close((struct machine *)h->trial.machine);
}

/*
 * Verification passes if nothing was lost. If a sample lost more ticks than were reported, this is
 * an error for a thread's own counter, but a result for a shared one.
 */
static void own_counters_are_verified(void **state)
{
	enum { SAMPLES = 3 };

	(void)state;
	for (const struct variant *v = checkpoint_benchmark.variants;
	     v < checkpoint_benchmark.variants + checkpoint_benchmark.n_variants; v++)
		for (unsigned wrong = 0; wrong <= SAMPLES && !lacking(v); wrong++) {
			const bool shared = strstr("together quadwords apart", v->name);
			struct by_hand h;

			begin(&h, v, 0);
			for (unsigned i = 0; i < SAMPLES; i++)
				sample(h.state, i == wrong ? 2 : 1);
			assert_int_equal(right(&h), shared || wrong == SAMPLES);
			end(&h);
		}
}

/* A letter in a place where the reversals of all samples cannot have left it is found. */
static void strings_are_verified(void **state)
{
	static const unsigned samples[] = { 0, 1, 2, 5 };
	static const size_t at[] = { 0, STRING - 1, STRING / 2, (size_t)STRINGS * STRING - 1 };

	(void)state;
	for (size_t i = 0; i < LENGTH(samples); i++) {
		struct by_hand h;
		const struct region *r;

		begin(&h, variant("per-thread"), 1);
		for (r = h.trial.arena->regions; strcmp(r->name, "strings") != 0; r = r->next)
			assert_non_null(r->next);
		for (unsigned j = 0; j < samples[i]; j++)
			sample(h.state, 1);
		for (size_t j = 0; j < LENGTH(at); j++) {
			assert_true(right(&h));
			r->base[at[j]] ^= 1;
			assert_false(right(&h));
			r->base[at[j]] ^= 1;
		}
		end(&h);
	}
}

/* Ticks of a thread that works alone are not scored: they may cost a thousandth of the others. */
static void ticks_count_when_all_are_at_work(void **state)
{
	(void)state;
	assert_int_equal(checkpoint_benchmark.protocol.scored, TOGETHER);
	for (const struct variant *v = checkpoint_benchmark.variants;
	     v < checkpoint_benchmark.variants + checkpoint_benchmark.n_variants; v++)
		for (unsigned body = 0; body < 2 && !lacking(v); body++) {
			struct by_hand h;

			begin(&h, v, body);
			checkpoint_benchmark.ops.reset(h.state);
			for (unsigned i = 0; i < THREADS; i++) {
				struct worker w = { .index = i, .count = 1000, .stop = &stop };

				checkpoint_benchmark.ops.work(h.state, &w);
				assert_int_equal(w.done, 1000);
				assert_int_equal(w.together, i == THREADS - 1 ? 1000 : 0);
			}
			assert_true(right(&h));
			end(&h);
		}
}

static void every_is_a_power_of_two(void **state)
{
	static const struct {
		uint64_t every;
		bool applies;
	} table[] = { { 0, false },
		      { 1, true },
		      { 2, true },
		      { 3, false },
		      { 255, false },
		      { 256, true },
		      { UINT64_C(1) << 63, true } };

	const char *error;
	struct machine *m = machine_open("core:1 pu:1", &error);

	(void)state;
	assert_non_null(m);
	for (size_t i = 0; i < LENGTH(table); i++) {
		const union value value[] = { { .count = 0 },
					      { .count = table[i].every },
					      { .choice = 0 } };
		const struct trial trial = { .benchmark = &checkpoint_benchmark,
					     .variant = variant("together"),
					     .value = value,
					     .machine = m,
					     .threads = 1 };

		assert_int_equal(checkpoint_benchmark.needs(&trial).pointless == NULL,
				 table[i].applies);
	}
	machine_close(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layouts_are_what_they_say),
		cmocka_unit_test(own_counters_are_verified),
		cmocka_unit_test(strings_are_verified),
		cmocka_unit_test(ticks_count_when_all_are_at_work),
		cmocka_unit_test(every_is_a_power_of_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
