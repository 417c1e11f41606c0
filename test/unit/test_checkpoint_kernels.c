/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of checkpoint: the instructions of their loops, and what they count. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bench/checkpoint/kernels.h"
#include "benchmarks.h"
#include "cases.h"
#include "code.h"
#include "kit/loop.h"
#include "machine/memory/arena.h"
#include "machine/memory/mapped.h"
#include "machine/threads/affinity.h"
#include "machine/topology/topology.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* ---- machine code: a tick is a load, an add and a store ---- */

#ifdef __x86_64__
#define LONG	   "%r([a-ds][xpi]|[0-9]+)"
#define LOAD_LONG  "mov \\(" LONG "\\)," LONG
#define STORE_LONG "mov " LONG ",\\(" LONG "\\)"
#define COUNTED	   "sub \\$0x1," R "|dec " R "|add \\$0xf+," R
#define BYTES                                                  \
	"|v?(mov|pshuf|punpck|pack|por|psll|psrl)[a-z0-9]* .*" \
	"|(bswap|rol[lwq]?) .*|vzeroupper"
#define FIELDS "|" LOADED /* fields of the counter that is ticked */
/* a restartable sequence: announce its start, read the CPU's number, tick */
#define INDEXED "\\(" R "," R "(,1)?\\)"
#define OF_THIS_CPU                                                                               \
	"mov " R ",%fs:0x8\\(" R "\\)", "mov %fs:0x4\\(" R "\\)," R, "mov " INDEXED "," R, ADDED, \
		"mov " R "," INDEXED
#define LOOKED_FOR "|imul " R "," R
#elif defined(__aarch64__)
#define LOAD_LONG  "ldr x[0-9]+, \\[x[0-9]+\\]"
#define STORE_LONG "str x[0-9]+, \\[x[0-9]+\\]"
#define COUNTED	   "subs? x[0-9]+, x[0-9]+, #0x1"
#define BYTES	   "|(ldr|str)b? .*|rev.* .*|ext .*"
#define FIELDS	   "|ld[rp] x.*"
#define OF_THIS_CPU                                                                           \
	"str x[0-9]+, \\[x[0-9]+, #8\\]", "ldr w[0-9]+, \\[x[0-9]+, #4\\]", LOAD_LONG, ADDED, \
		STORE_LONG
#define LOOKED_FOR "|adrp .*|umaddl .*"
#endif
#ifdef LOAD_LONG
static const struct shape shapes[] = {
	{ "checkpoint_loop", LOOP, ARITHMETIC, { LOAD_LONG, ADDED, STORE_LONG } },
	{ "checkpoint_loop", ALL, AROUND FIELDS, { LOAD_LONG, ADDED, STORE_LONG } },
	{ "checkpoint_reverse", LOOP, ARITHMETIC BYTES, { LOAD_LONG, ADDED, STORE_LONG } },
	/* a tick touches no memory */
	{ "countdown_loop", LOOP, ARITHMETIC, { COUNTED } },
#ifdef PERCPU
	{ "percpu_loop", LOOP, ARITHMETIC LOOKED_FOR, { OF_THIS_CPU } },
#endif
};
#else
static const struct shape shapes[] = { { NULL, ALL, NULL, { NULL } } };
#endif

/* ---- counts ---- */

static const uint64_t counts[] = { 0, 1, 2, 255, 256, 257, 511, 512, 1000, 100000 },
		      masks[] = { 0, 1, 255, 1023 };

static void loop_ticks_and_fires(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(counts); i++)
		for (size_t j = 0; j < LENGTH(masks); j++) {
			counter tick = 0, fired = 0;

			checkpoint_loop(&(struct ticker){ &tick, &fired, masks[j], NULL, 0 },
					counts[i]);
			assert_int_equal(tick, counts[i]);
			assert_int_equal(fired, counts[i] / (masks[j] + 1));
		}
}

/* Strings take turns: each is reversed after 1024 ticks, and restored after 1024 more. */
static void reverse_turns_strings_over(void **state)
{
	static const uint64_t turns[] = { 0, 1, 1023, 1024, 1025, 2048, 3000 };
	static unsigned char strings[STRINGS][STRING];

	(void)state;
	for (size_t i = 0; i < LENGTH(turns); i++) {
		counter tick = 0, fired = 0;
		struct ticker t = { &tick, &fired, 255, strings[0], 0 };

		for (unsigned s = 0; s < STRINGS; s++)
			for (unsigned c = 0; c < STRING; c++)
				strings[s][c] = (unsigned char)(s + c);
		/* in two blocks: the second goes on where the first ended */
		checkpoint_reverse(&t, turns[i] / 3);
		checkpoint_reverse(&t, turns[i] - turns[i] / 3);
		assert_int_equal(t.reversed, turns[i]);
		assert_int_equal(tick, turns[i]);
		assert_int_equal(fired, turns[i] / 256);
		for (unsigned s = 0; s < STRINGS; s++) {
			const bool over = (turns[i] / STRINGS + (s < turns[i] % STRINGS)) % 2;

			for (unsigned c = 0; c < STRING; c++)
				assert_int_equal(strings[s][c],
						 (unsigned char)(s + (over ? STRING - 1 - c : c)));
		}
	}
}

/*
 * Both counters share one address: each tick fires, so together they count two per tick, unless the
 * compiler keeps the tick in a register.
 */
static void ticks_are_in_memory(void **state)
{
	static unsigned char strings[STRINGS][STRING];
	counter both = 0;
	struct ticker t = { &both, &both, 0, strings[0], 0 };

	(void)state;
	checkpoint_loop(&t, 1000);
	assert_int_equal(both, 2000);
	checkpoint_reverse(&t, 1000);
	assert_int_equal(both, 4000);
}

/*
 * A countdown ticks and fires equally often in any division into blocks, and reverses the same
 * strings.
 */
static void a_countdown_ticks_as_often(void **state)
{
	static unsigned char strings[STRINGS][STRING], others[STRINGS][STRING];

	(void)state;
	for (size_t i = 0; i < LENGTH(counts); i++)
		for (size_t j = 0; j < LENGTH(masks); j++) {
			counter tick = 0, fired = 0, all = 0, all_fired = 0;
			struct ticker t = { &tick, &fired, masks[j], others[0], 0, masks[j] + 1 },
				      u = { &all, &all_fired, masks[j], strings[0], 0, 0 };

			for (unsigned s = 0; s < STRINGS; s++)
				for (unsigned c = 0; c < STRING; c++)
					strings[s][c] = others[s][c] = (unsigned char)(s + c);
			countdown_loop(&t, counts[i] / 3);
			countdown_reverse(&t, counts[i] - counts[i] / 3);
			checkpoint_reverse(&u, counts[i] - counts[i] / 3);
			assert_int_equal(tick, counts[i]);
			assert_int_equal(fired, counts[i] / (masks[j] + 1));
			assert_memory_equal(strings, others, sizeof(strings));
		}
}

/* ---- counters of CPUs ---- */

enum { STRIDE = 128 };

/* A pair for each CPU. */
struct pairs {
	unsigned n;
	unsigned char *memory;
};

static struct pairs pairs_new(void)
{
	struct pairs p = { .n = cpuset_room() };

	p.memory = aligned_alloc(STRIDE, (size_t)p.n * STRIDE);
	assert_non_null(p.memory);
	memset(p.memory, 0, (size_t)p.n * STRIDE);
	return p;
}

static counter *pair_tick(const struct pairs *p, unsigned cpu)
{
	return (counter *)(p->memory + (size_t)cpu * STRIDE);
}

static struct ticker ticker_of(const struct pairs *p, uint64_t mask, unsigned char *strings)
{
	return (struct ticker){ .tick = pair_tick(p, 0),
				.fired = pair_tick(p, 0) + 1,
				.mask = mask,
				.strings = strings,
				.stride = STRIDE };
}

/* Nothing is lost: no tick, and no firing (the ticks of a CPU tell how many firings are due). */
static void check_pairs(const struct pairs *p, uint64_t mask, uint64_t wanted)
{
	uint64_t ticks = 0, fired = 0, due = 0;

	for (unsigned cpu = 0; cpu < p->n; cpu++) {
		ticks += counter_get(pair_tick(p, cpu));
		fired += counter_get(pair_tick(p, cpu) + 1);
		due += counter_get(pair_tick(p, cpu)) / (mask + 1);
	}
	assert_int_equal(ticks, wanted);
	assert_int_equal(fired, due);
}

static bool lacks_sequences(void)
{
	if (!percpu_lacking())
		return false;
	print_message("# %s\n", percpu_lacking());
	return true;
}

static void each_cpu_counts_its_own(void **state)
{
	static unsigned char strings[STRINGS][STRING], others[STRINGS][STRING];
	hwloc_bitmap_t all;
	int cpu;

	(void)state;
	if (lacks_sequences())
		skip();
	all = cpuset_get();
	assert_non_null(all);
	hwloc_bitmap_foreach_begin(cpu, all) for (size_t i = 0; i < LENGTH(counts);
						  i++) for (size_t j = 0; j < LENGTH(masks); j++)
	{
		const uint64_t half = counts[i] / 2, rest = counts[i] - half;
		struct pairs p = pairs_new();
		counter tick = 0, fired = 0;
		struct ticker t = ticker_of(&p, masks[j], strings[0]), u = {
			.tick = &tick, .fired = &fired, .mask = masks[j], .strings = others[0]
		};

		memset(strings, 0, sizeof(strings));
		for (unsigned s = 0; s < STRINGS; s++)
			strings[s][s % STRING] = 1;
		memcpy(others, strings, sizeof(strings));
		assert_int_equal(cpuset_set_one(cpu), 0);
		percpu_loop(&t, half);
		percpu_reverse(&t, rest);
		checkpoint_reverse(&u, rest);
		assert_int_equal(*pair_tick(&p, (unsigned)cpu), counts[i]);
		assert_int_equal(*(pair_tick(&p, (unsigned)cpu) + 1), counts[i] / (masks[j] + 1));
		check_pairs(&p, masks[j], counts[i]);
		assert_memory_equal(strings, others, sizeof(strings));
		free(p.memory);
	}
	hwloc_bitmap_foreach_end();
	assert_int_equal(cpuset_set(all), 0);
	hwloc_bitmap_free(all);
}

enum { MOVED = 5, MOVES = 1500, BLOCK = 1000, MASK = 15 };

struct moved {
	pthread_t thread;
	struct ticker ticker;
	uint64_t done;
};
static _Atomic bool moved_enough;

static void *tick_often(void *argument)
{
	struct moved *m = argument;

	do {
		percpu_loop(&m->ticker, BLOCK);
		m->done += BLOCK;
	} while (!atomic_load(&moved_enough));
	return NULL;
}

/* The next CPU of a set; after the last comes the first. */
static int next_cpu(const cpu_set_t *set, int cpu)
{
	do
		cpu = (cpu + 1) % CPU_SETSIZE;
	while (!CPU_ISSET(cpu, set));
	return cpu;
}

/*
 * Threads tick while another thread moves them from CPU to CPU, several on a CPU at a time: so they
 * are interrupted anywhere within a tick.
 */
static void nothing_is_lost_where_threads_are_moved(void **state)
{
	static struct moved of[MOVED];
	struct pairs p;
	cpu_set_t all, one;
	uint64_t done = 0;

	(void)state;
	if (lacks_sequences())
		skip();
	p = pairs_new();
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	atomic_store(&moved_enough, false);
	for (unsigned i = 0; i < MOVED; i++) {
		of[i] = (struct moved){ .ticker = ticker_of(&p, MASK, NULL) };
		assert_int_equal(pthread_create(&of[i].thread, NULL, tick_often, &of[i]), 0);
	}
	for (unsigned i = 0, n = cases(MOVES), cpu = 0; i < n; i++) {
		cpu = (unsigned)next_cpu(&all, (int)cpu);
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		assert_int_equal(pthread_setaffinity_np(of[i % MOVED].thread, sizeof(one), &one),
				 0);
	}
	atomic_store(&moved_enough, true);
	for (unsigned i = 0; i < MOVED; i++) {
		pthread_join(of[i].thread, NULL);
		done += of[i].done;
	}
	check_pairs(&p, MASK, done);
	free(p.memory);
}

int main(void)
{
	struct CMUnitTest tests[20] = {
		cmocka_unit_test(loop_ticks_and_fires),
		cmocka_unit_test(reverse_turns_strings_over),
		cmocka_unit_test(ticks_are_in_memory),
		cmocka_unit_test(a_countdown_ticks_as_often),
		cmocka_unit_test(each_cpu_counts_its_own),
		cmocka_unit_test(nothing_is_lost_where_threads_are_moved),
	};
	const char *why_not = unreadable();
	size_t n = 6;

	for (size_t i = 0; !why_not && i < LENGTH(shapes) && shapes[i].function; i++)
		tests[n++] = (struct CMUnitTest){ shapes[i].extent == ALL ? "loop_is_all_there_is"
						  : i ? "reverse_is_what_was_meant"
						      : "loop_is_what_was_meant",
						  has_the_shape_that_was_meant, NULL, NULL,
						  (void *)&shapes[i] };
	if (why_not)
		printf("# machine code not looked at: %s\n", why_not);
	return _cmocka_run_group_tests("checkpoint_kernels", tests, n, NULL, NULL);
}
