/* SPDX-License-Identifier: Apache-2.0 */
/*
 * atomics: what each operation does to a word of each size, that a lost update is found, machine
 * code, and when a word on two lines is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "bench/atomics/kernels.h"
#include "benchmarks.h"
#include "code.h"
#include "machine/memory/mapped.h"
#include "machine/topology/topology.h"
#include "tree.h"

/* Counts exceed a byte. On many machines a split lock is a trap, of up to milliseconds. */
enum { TIMES = 300, TIMES_ACROSS = 4 };
enum { ALIGNED, UNALIGNED, ACROSS };
enum { SHARED, PADDED };

/* ---- kernels ---- */

static bool there_is(enum operation o, unsigned size)
{
	return atomics_kernels[o][size] && !atomics_lack(o, 1U << size);
}

/* A word of 16 bytes holds a number and its complement; in other words the rest is 0. */
static uint64_t number_of(const unsigned char *place, unsigned size)
{
	uint64_t word[2] = { 0 };

	memcpy(word, place, (size_t)1 << size);
	if (size == SIZES - 1)
		assert_true(word[1] == ~word[0]);
	return word[0];
}

static uint64_t cut(uint64_t number, unsigned size)
{
	return size < 3 ? number & ((UINT64_C(1) << (8 << size)) - 1) : number;
}

static void put_number(unsigned char *place, uint64_t number, unsigned size)
{
	const uint64_t word[2] = { number, ~number };

	memcpy(place, word, (size_t)1 << size);
}

/* The bytes before and behind the word stay as they are. */
static void operations_do_what_they_say(void **state)
{
	_Alignas(64) unsigned char place[64];

	(void)state;
	for (enum operation o = 0; o < OPERATIONS; o++)
		for (unsigned size = 0; size < SIZES; size++) {
			struct job job = { .word = place + 16 };
			const uint64_t begin = o == OPERATION_LOAD ? 77 : 0;

			if (!there_is(o, size))
				continue;
			memset(place, 0xee, sizeof(place));
			put_number(job.word, begin, size);
			atomics_kernels[o][size](&job, 0);
			assert_true(number_of(job.word, size) == begin);
			atomics_kernels[o][size](&job, TIMES - 1);
			atomics_kernels[o][size](&job, 1);
			for (unsigned i = 0; i < sizeof(place); i++)
				if (i < 16 || i >= 16 + (1U << size))
					assert_int_equal(place[i], 0xee);
			if (o == OPERATION_LOAD) {
				assert_true(number_of(job.word, size) == begin);
				assert_true(job.got == TIMES * begin);
				continue;
			}
			assert_true(number_of(job.word, size) == cut(TIMES, size));
			if (o == OPERATION_EXCHANGE)
				assert_true(job.put - job.got == cut(TIMES, size));
			if (o == OPERATION_COMPARE_EXCHANGE)
				assert_int_equal(job.hits, TIMES);
		}
}

/* The first compare-exchange finds an unexpected number, and each later one the expected number. */
static void a_compare_exchange_can_miss(void **state)
{
	_Alignas(16) unsigned char place[16];

	(void)state;
	for (unsigned size = 0; size < SIZES; size++) {
		struct job job = { .word = place, .value = 3 };

		if (!there_is(OPERATION_COMPARE_EXCHANGE, size))
			continue;
		put_number(place, 100, size);
		atomics_kernels[OPERATION_COMPARE_EXCHANGE][size](&job, 1);
		assert_int_equal(job.hits, 0);
		assert_true(number_of(place, size) == 100);
		atomics_kernels[OPERATION_COMPARE_EXCHANGE][size](&job, 10);
		assert_int_equal(job.hits, 10);
		assert_true(number_of(place, size) == 110);
	}
}

/* ---- the answer ---- */

/* A trial without the harness: workers are run by hand, one after the other. */
struct by_hand {
	struct trial trial;
	union value value[8];
	struct place place[2];
	_Atomic bool stop;
	void *state;
};

static bool prepare(struct by_hand *h, enum operation o, unsigned size, unsigned alignment,
		    unsigned layout)
{
	const uint64_t times = alignment == ACROSS ? TIMES_ACROSS : TIMES;
	const char *error;
	unsigned i = 0;

	memset(h, 0, sizeof(*h));
	h->trial = (struct trial){ .benchmark = &atomics_benchmark,
				   .variant = &atomics_benchmark.variants[o],
				   .value = h->value,
				   .threads = 2,
				   .place = h->place,
				   .machine = machine_open("core:2 pu:1", &error) };
	for (const struct parameter *p = atomics_benchmark.parameters;
	     p < atomics_benchmark.parameters + atomics_benchmark.n_parameters; p++, i++)
		if (!strcmp(p->name, "size"))
			h->value[i].choice = size;
		else if (!strcmp(p->name, "alignment"))
			h->value[i].choice = alignment;
		else if (!strcmp(p->name, "layout"))
			h->value[i].choice = layout;
	if (atomics_benchmark.needs(&h->trial).pointless) {
		machine_close((struct machine *)h->trial.machine);
		return false;
	}
	h->trial.arena = arena_open(h->trial.machine);
	h->state = atomics_benchmark.ops.prepare(&h->trial);
	if (!h->state) {
		assert_non_null(arena_refusal(h->trial.arena));
		arena_close(h->trial.arena);
		machine_close((struct machine *)h->trial.machine);
		return false;
	}
	atomics_benchmark.ops.reset(h->state);
	for (unsigned worker = 0; worker < 2; worker++) {
		struct worker w = {
			.index = worker, .threads = 2, .count = times + worker, .stop = &h->stop
		};

		atomics_benchmark.ops.work(h->state, &w);
		assert_int_equal(w.done, times + worker);
	}
	return true;
}

static void release(struct by_hand *h)
{
	atomics_benchmark.ops.release(h->state);
	arena_close(h->trial.arena);
	machine_close((struct machine *)h->trial.machine);
}

/* Every word passes as it is, and fails with another number in it. */
static void check_answer(struct by_hand *h, unsigned size, unsigned alignment, unsigned layout)
{
	unsigned char *base = region_base(h->trial.arena->regions);
	const size_t line = h->trial.machine->line, bytes = (size_t)1 << size,
		     distance = 2 * machine_apart(h->trial.machine),
		     offset = alignment == ACROSS ? line - bytes / 2 : alignment == UNALIGNED;

	assert_null(atomics_benchmark.ops.verify(h->state, &h->trial));
	for (unsigned word = 0; word < (layout == SHARED ? 1 : 2); word++) {
		unsigned char *place = base + word * distance + offset;

		place[bytes - 1] ^= 0x80;
		assert_non_null(atomics_benchmark.ops.verify(h->state, &h->trial));
		place[bytes - 1] ^= 0x80;
	}
	assert_null(atomics_benchmark.ops.verify(h->state, &h->trial));
}

static void a_wrong_word_is_found(void **state)
{
	unsigned checked = 0;

	(void)state;
	for (enum operation o = 0; o < OPERATIONS; o++)
		for (unsigned size = 0; size < SIZES; size++)
			for (unsigned i = 0; i < 3 * 2; i++) {
				struct by_hand h;

				if (!prepare(&h, o, size, i / 2, i % 2))
					continue;
				check_answer(&h, size, i / 2, i % 2);
				release(&h);
				checked++;
			}
	assert_in_range(checked, 2 * 5 * 4, 2 * 5 * 5 * 3);
}

/* ---- words on two lines ---- */

#define CPU "processor : 0\nflags\t\t: fpu cx16 "
static void split_locks_are_refused_where_they_are_fatal(void **state)
{
	static const struct {
		const char *cpu, *given;
		bool refused;
	} rows[] = {
		{ CPU "avx\n", "quiet", false },
		{ CPU "avx\n", "quiet split_lock_detect=fatal", false },
		{ CPU "split_lock_detect avx\n", "quiet", false },
		{ CPU "split_lock_detect avx\n", "split_lock_detect=off", false },
		{ CPU "split_lock_detect avx\n", "split_lock_detect=warn quiet", false },
		{ CPU "split_lock_detect avx\n", "nosplit_lock_detect=fatal", false },
		{ CPU "split_lock_detect avx\n", "quiet split_lock_detect=fatal", true },
		{ CPU "avx bus_lock_detect\n", "split_lock_detect=fatal quiet", true },
		{ CPU "avx bus_lock_detect\n", "split_lock_detect=ratelimit:10", false },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		put_file("/proc/cpuinfo", rows[i].cpu);
		put_file("/proc/cmdline", rows[i].given);
#ifdef __x86_64__
		assert_int_equal(splits_refused(root, true) != NULL, rows[i].refused);
		assert_null(splits_refused(root, false));
#else
		assert_non_null(splits_refused(root, true));
		assert_non_null(splits_refused(root, false));
#endif
	}
}

/* A folder without files of /proc, as containers have. */
static void nothing_known_is_not_fatal(void **state)
{
	(void)state;
#ifdef __x86_64__
	assert_null(splits_refused(root, true));
#else
	assert_non_null(splits_refused(root, true));
#endif
}

/* ---- machine code ---- */

#ifdef __x86_64__
#define OF_PAIRS "|punpck[a-z]+ .*|movq .*|pextrq .*|pshufd .*|paddq .*|p?mov[a-z0-9]+ .*"
#define LOADS	 "mov(zbl|zwl|l|q)? " AT "," R
#define STORES	 "mov[bwlq]? " R "," AT
static const struct shape shapes[] = {
	{ "load_1", LOOP, ARITHMETIC, { LOADS } },
	{ "load_2", LOOP, ARITHMETIC, { LOADS } },
	{ "load_4", LOOP, ARITHMETIC, { LOADS } },
	{ "load_8", LOOP, ARITHMETIC, { LOADS } },
	{ "load_16", LOOP, ARITHMETIC OF_PAIRS, { "movdqa " AT ",%xmm[0-9]+" } },
	{ "store_1", LOOP, ARITHMETIC, { STORES } },
	{ "store_2", LOOP, ARITHMETIC, { STORES } },
	{ "store_4", LOOP, ARITHMETIC, { STORES } },
	{ "store_8", LOOP, ARITHMETIC, { STORES } },
	{ "store_16", LOOP, ARITHMETIC OF_PAIRS, { "paddq .*", "movdqa %xmm[0-9]+," AT } },
	{ "add_1", LOOP, ARITHMETIC, { "lock xadd " R "," AT } },
	{ "add_2", LOOP, ARITHMETIC, { "lock xadd " R "," AT } },
	{ "add_4", LOOP, ARITHMETIC, { "lock xadd " R "," AT } },
	{ "add_8", LOOP, ARITHMETIC, { "lock xadd " R "," AT } },
	{ "exchange_1", LOOP, ARITHMETIC, { "xchg " R "," AT } },
	{ "exchange_2", LOOP, ARITHMETIC, { "xchg " R "," AT } },
	{ "exchange_4", LOOP, ARITHMETIC, { "xchg " R "," AT } },
	{ "exchange_8", LOOP, ARITHMETIC, { "xchg " R "," AT } },
	{ "compare_exchange_1", LOOP, ARITHMETIC, { "lock cmpxchg " R "," AT } },
	{ "compare_exchange_2", LOOP, ARITHMETIC, { "lock cmpxchg " R "," AT } },
	{ "compare_exchange_4", LOOP, ARITHMETIC, { "lock cmpxchg " R "," AT } },
	{ "compare_exchange_8", LOOP, ARITHMETIC, { "lock cmpxchg " R "," AT } },
	{ "compare_exchange_16", LOOP, ARITHMETIC "|(adc|sbb) .*", { "lock cmpxchg16b " AT } },
};
#elif defined(__aarch64__)
static const struct shape shapes[] = {
	{ "load_1", LOOP, ARITHMETIC, { LOADED } },
	{ "load_8", LOOP, ARITHMETIC, { LOADED } },
	{ "load_16", LOOP, ARITHMETIC, { "ldp .*" } },
	{ "store_1", LOOP, ARITHMETIC, { STORED } },
	{ "store_8", LOOP, ARITHMETIC, { STORED } },
	{ "store_16", LOOP, ARITHMETIC "|" LOADED, { "stp .*" } },
	{ "compare_exchange_16", LOOP, ARITHMETIC "|cinc .*|cinv .*", { "ldxp .*", "stxp .*" } },
};
#else
static const struct shape shapes[] = { { NULL, ALL, NULL, { NULL } } };
#endif

static void loops_are_what_was_meant(void **state)
{
	(void)state;
	have_the_shapes_that_were_meant(shapes, sizeof(shapes) / sizeof(*shapes));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operations_do_what_they_say),
		cmocka_unit_test(a_compare_exchange_can_miss),
		cmocka_unit_test(a_wrong_word_is_found),
		cmocka_unit_test_setup_teardown(split_locks_are_refused_where_they_are_fatal,
						tree_make, tree_remove),
		cmocka_unit_test_setup_teardown(nothing_known_is_not_fatal, tree_make, tree_remove),
		cmocka_unit_test(loops_are_what_was_meant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
