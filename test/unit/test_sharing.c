/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sharing: the machine code of updates and exchanges, when operations are counted, and where words
 * and locks lie.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bench/core-to-core/core-to-core.h"
#include "bench/sharing/kernels.h"
#include "bounded.h"
#include "by_hand.h"
#include "code.h"
#include "harness/plan/plan.h"
#include "machine/memory/region.h"
#include "suite.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* ---- machine code ---- */

#ifdef __x86_64__
#define INCREMENT	  "addq \\$0x1," AT "|incq " AT
#define FETCHED_ADD	  "lock xadd " R "," AT
#define EXCHANGED	  "xchg " R "," AT
#define COMPARED_EXCHANGE "lock cmpxchg " R "," AT
#define RELAXED		  "pause"
#define OF_LINES                                                                             \
	"vzeroupper|v?p?(mov|unpck|shuf|add|srl|broadcast|extr)[a-z0-9]* .*|cmp[lq] " NUMBER \
	"," AT "|lea .*|test[lqbw]? .*"
static const struct shape shapes[] = {
	{ "update_add", LOOP, ARITHMETIC, { LOADED, ADDED, STORED } },
	{ "update_add_32", LOOP, ARITHMETIC, { LOADED, ADDED, STORED } },
	{ "update_fetch_add", LOOP, ARITHMETIC, { FETCHED_ADD } },
	{ "update_fetch_add_32", LOOP, ARITHMETIC, { FETCHED_ADD } },
	{ "update_compare_exchange", LOOP, ARITHMETIC, { LOADED, ADDED, COMPARED_EXCHANGE } },
	{ "update_mutex",
	  LOOP,
	  ARITHMETIC,
	  { CALL("pthread_mutex_lock"), INCREMENT, CALL("pthread_mutex_unlock") } },
	{ "update_spin",
	  ALL,
	  AROUND,
	  { EXCHANGED, LOADED, RELAXED, CALL("sched_yield"), INCREMENT, "movl \\$0x0," AT } },
	{ "update_ticket",
	  ALL,
	  AROUND,
	  { FETCHED_ADD, LOADED, RELAXED, CALL("sched_yield"), INCREMENT,
	    STORED "|(addl \\$0x1,|incl )" AT } },
	{ "update_mcs",
	  ALL,
	  AROUND "|movb \\$0x1," AT,
	  { "movq \\$0x0," AT, EXCHANGED, STORED, LOADED, RELAXED "|" CALL("sched_yield"),
	    INCREMENT, COMPARED_EXCHANGE, "movb \\$0x0," AT } },
	{ "update_compare_exchange_32", LOOP, ARITHMETIC, { LOADED, ADDED, COMPARED_EXCHANGE } },
	{ "empty_mutex",
	  LOOP,
	  ARITHMETIC,
	  { CALL("pthread_mutex_lock"), CALL("pthread_mutex_unlock") } },
	{ "update_futex",
	  ALL,
	  AROUND,
	  { COMPARED_EXCHANGE, CALL("futex_lock_wait"), INCREMENT, EXCHANGED,
	    CALL("futex_lock_wake") } },
	{ "empty_spin",
	  ALL,
	  AROUND,
	  { EXCHANGED, LOADED, RELAXED, CALL("sched_yield"), "movl \\$0x0," AT } },
	{ "empty_ticket",
	  ALL,
	  AROUND,
	  { FETCHED_ADD, LOADED, RELAXED, CALL("sched_yield"),
	    STORED "|(addl \\$0x1,|incl )" AT } },
	{ "empty_mcs",
	  ALL,
	  AROUND "|movb \\$0x1," AT,
	  { "movq \\$0x0," AT, EXCHANGED, STORED, LOADED, RELAXED "|" CALL("sched_yield"),
	    COMPARED_EXCHANGE, "movb \\$0x0," AT } },
	{ "exchange_compare_exchange", ALL, AROUND, { COMPARED_EXCHANGE, CALL("cpu_yield") } },
	/* the polling loop: load, compare, count, and nothing that would delay the next load */
	{ "exchange_store_load", LOOP, ARITHMETIC, { LOADED } },
	{ "exchange_store_load", ALL, AROUND, { LOADED, STORED, CALL("cpu_yield") } },
	{ "exchange_two_lines", LOOP, ARITHMETIC, { LOADED } },
	{ "exchange_two_lines", ALL, AROUND, { LOADED, STORED, CALL("cpu_yield") } },
	{ "exchange_message",
	  ALL,
	  AROUND "|" OF_LINES,
	  { LOADED, STORED, CALL("cpu_yield"), "movq \\$0x0," AT } },
};
#elif defined(__aarch64__)
/*
 * An atomic instruction of ARMv8.1 (LSE), a call of the outlined function that chooses it at run
 * time, or the store of a load-store pair with reservation.
 */
#define ATOMIC(INSTRUCTION, FUNCTION)                                                             \
	"(" INSTRUCTION ")[a-z]* .*" AT "|" CALL("__aarch64_" FUNCTION "[48]_[a-z_]+") "|stl?xr " \
										       ".*"
#define RESERVED "|lda?xr .*|clrex"
#define FETCHED_ADD \
	"ldadda?l? " R ", [wx][0-9]+, " AT "|" CALL("__aarch64_ldadd[48]_[a-z_]+") "|stl?xr .*"
#define EXCHANGED	  ATOMIC("swp", "swp")
#define COMPARED_EXCHANGE ATOMIC("cas", "cas")
static const struct shape shapes[] = {
	{ "update_add", LOOP, ARITHMETIC, { "ldr x[0-9]+, " AT, ADDED, "str x[0-9]+, " AT } },
	{ "update_add_32", LOOP, ARITHMETIC, { "ldr w[0-9]+, " AT, ADDED, "str w[0-9]+, " AT } },
	{ "update_fetch_add", LOOP, ARITHMETIC RESERVED, { FETCHED_ADD } },
	{ "update_fetch_add_32", LOOP, ARITHMETIC RESERVED, { FETCHED_ADD } },
	{ "update_compare_exchange",
	  LOOP,
	  ARITHMETIC RESERVED,
	  { LOADED, ADDED, COMPARED_EXCHANGE } },
	{ "update_mutex",
	  LOOP,
	  ARITHMETIC,
	  { CALL("pthread_mutex_lock"), LOADED, ADDED, STORED, CALL("pthread_mutex_unlock") } },
	{ "update_spin",
	  ALL,
	  AROUND RESERVED,
	  { EXCHANGED, LOADED, "yield", CALL("sched_yield"), ADDED, STORED, "stlr wzr, " AT } },
	{ "update_ticket",
	  ALL,
	  AROUND RESERVED "|" LOADED,
	  { FETCHED_ADD, "lda(p)?r w[0-9]+, " AT, "yield", CALL("sched_yield"), ADDED, STORED,
	    "stlr w[0-9]+, " AT } },
	{ "update_mcs",
	  ALL,
	  AROUND RESERVED "|strb .*",
	  { EXCHANGED, "stlr x[0-9]+, " AT, "lda(p)?rb .*", "yield", CALL("sched_yield"), ADDED,
	    COMPARED_EXCHANGE, "stlrb wzr, " AT "|" LOADED "|" STORED } },
	{ "update_compare_exchange_32",
	  LOOP,
	  ARITHMETIC RESERVED,
	  { LOADED, ADDED, COMPARED_EXCHANGE } },
	{ "empty_mutex",
	  LOOP,
	  ARITHMETIC,
	  { CALL("pthread_mutex_lock"), CALL("pthread_mutex_unlock") } },
	{ "update_futex",
	  ALL,
	  AROUND RESERVED,
	  { COMPARED_EXCHANGE, CALL("futex_lock_wait"), LOADED, ADDED, STORED, EXCHANGED,
	    CALL("futex_lock_wake") } },
	{ "empty_spin",
	  ALL,
	  AROUND RESERVED,
	  { EXCHANGED, LOADED, "yield", CALL("sched_yield"), "stlr wzr, " AT } },
	{ "empty_ticket",
	  ALL,
	  AROUND RESERVED "|" LOADED,
	  { FETCHED_ADD, "lda(p)?r w[0-9]+, " AT, "yield", CALL("sched_yield"),
	    "stlr w[0-9]+, " AT } },
	{ "empty_mcs",
	  ALL,
	  AROUND RESERVED "|strb .*",
	  { EXCHANGED, "stlr x[0-9]+, " AT, "lda(p)?rb .*", "yield", CALL("sched_yield"),
	    COMPARED_EXCHANGE, "stlrb wzr, " AT "|" LOADED "|" STORED } },
	{ "exchange_compare_exchange",
	  ALL,
	  AROUND RESERVED,
	  { COMPARED_EXCHANGE, CALL("cpu_yield") } },
	{ "exchange_store_load", LOOP, ARITHMETIC, { "lda(p)?r .*" } },
	{ "exchange_store_load", ALL, AROUND, { "lda(p)?r .*", "stlr .*", CALL("cpu_yield") } },
	{ "exchange_two_lines", LOOP, ARITHMETIC, { "lda(p)?r .*" } },
	{ "exchange_two_lines", ALL, AROUND, { "lda(p)?r .*", "stlr .*", CALL("cpu_yield") } },
	{ "exchange_message",
	  ALL,
	  AROUND "|(ld|st)[rp1] .*",
	  { "lda(p)?r .*", "stlr .*", CALL("cpu_yield"), "st[rp] .*" } },
};
#else
static const struct shape shapes[] = { { NULL, ALL, NULL, { NULL } } };
#endif

/* Everything that the table names is linked. */
__attribute__((used)) static exchange *const linked[] = { exchange_message };

/* ---- the work ---- */

/* Variants with the parameter that moves the words; points of a curve or ratio differ in it. */
static const struct {
	const char *variant, *parameter;
	unsigned values[6], n;
} places[] = {
	{ "distance", "distance", { 4, 32, 64, 128, 256, 4096 }, 6 },
	{ "add", "layout", { 0, 1, 2 }, 3 },
	{ "fetch-add", "layout", { 0, 1, 2 }, 3 },
};

/*
 * The stop flag is checked after the same number of operations wherever the words lie, so calls and
 * checks cost the same in all compared trials.
 */
static void looks_are_as_rare_wherever_words_are(void **state)
{
	static const unsigned threads[] = { 2, 16 };

	(void)state;
	for (size_t i = 0; i < LENGTH(places); i++)
		for (size_t j = 0; j < LENGTH(threads); j++)
			for (unsigned k = 0; k < places[i].n; k++) {
				const unsigned last = threads[j] - 1;
				struct trial_by_hand h;

				prepare(&h, &sharing_benchmark, places[i].variant, threads[j],
					places[i].parameter, places[i].values[k]);
				for (unsigned w = 0; w < last; w++)
					assert_int_equal(run(&h, w, 1)->done, 1);
				h.stop = true;
				assert_int_equal(run(&h, last, UINT64_MAX)->done, 1);
				h.trial.benchmark->ops.reset(h.state);
				for (unsigned w = 0; w < last; w++)
					run(&h, w, 1);
				assert_int_equal(run(&h, last, 25600)->done, 25600);
				/* half of a block of 201 that ends after the flag was raised */
				assert_int_equal(h.worker[last].together, 101);
				release(&h);
			}
}

/* `together` counts operations from the last worker's start; earlier ones are not scored. */
static void counts_when_all_are_at_work(void **state)
{
	struct trial_by_hand h;

	(void)state;
	prepare(&h, &sharing_benchmark, "fetch-add", 3, "layout", 0);
	for (unsigned turn = 0; turn < 2; turn++) {
		for (unsigned w = 0; w < 2; w++) {
			assert_int_equal(run(&h, w, 1000)->done, 1000);
			assert_int_equal(h.worker[w].together, 0);
		}
		assert_int_equal(run(&h, 2, 1000)->together, 1000);
		h.trial.benchmark->ops.reset(h.state);
	}
	h.stop = true;
	/* the stop flag ends it, although the other workers never start */
	assert_int_equal(run(&h, 0, UINT64_MAX)->together, 0);
	release(&h);
}

/* ---- memory layouts ---- */

#define ON_ONE_LINE(TYPE)                        \
	assert_true(offsetof(TYPE, lock) == 0 && \
		    offsetof(TYPE, word) + sizeof(uint64_t) == sizeof(TYPE) && sizeof(TYPE) <= 64)

static void lock_and_word_are_on_one_line(void **state)
{
	(void)state;
	ON_ONE_LINE(struct guarded_by_mutex);
	ON_ONE_LINE(struct guarded_by_spin);
	ON_ONE_LINE(struct guarded_by_ticket);
	ON_ONE_LINE(struct guarded_by_mcs);
	ON_ONE_LINE(struct guarded_by_futex);
	assert_int_equal(sizeof(struct guarded_by_mutex),
			 sizeof(pthread_mutex_t) + sizeof(uint64_t));
	assert_int_equal(sizeof(struct guarded_by_spin), 16);
	assert_int_equal(sizeof(struct guarded_by_ticket), 16);
	assert_int_equal(sizeof(struct guarded_by_mcs), 16);
	assert_int_equal(sizeof(struct guarded_by_futex), 16);
}

static void nodes_and_lines_are_apart(void **state)
{
	(void)state;
	assert_int_equal(sizeof(struct mcs_node), APART);
	assert_int_equal(sizeof(struct line), APART);
	assert_int_equal(offsetof(struct line, payload) + sizeof(((struct line *)0)->payload), 64);
	assert_int_equal(offsetof(struct lines, taken), RING * APART);
	assert_int_equal(sizeof(struct lines), (RING + 1) * APART);
}

/* Returns the distance of two threads' words; `size` is set to the bytes of a word and its lock. */
static size_t stride(const struct machine *m, enum profile profile, const char *variant,
		     const char *layout, const char *lock, size_t *size)
{
	struct setting setting = { .machine = m,
				   .memory = { .available = NO_LIMIT, .what = "nothing" } };
	struct options options = { .benchmark = &sharing_benchmark,
				   .profile = profile,
				   .variant = variant,
				   .threads = "1,2,8",
				   .seed = 1 };
	struct plan plan;
	size_t bytes[3];

	for (unsigned i = 0; i < sharing_benchmark.n_parameters; i++) {
		options.parameter[i] =
			strcmp(sharing_benchmark.parameters[i].name, "layout") == 0 ? layout : NULL;
		if (strcmp(sharing_benchmark.parameters[i].name, "lock") == 0)
			options.parameter[i] = lock;
	}
	assert_int_equal(plan_make(&plan, &sharing_benchmark, &options, &setting), 0);
	assert_int_equal(plan.trials, 3);
	for (unsigned i = 0; i < 3; i++)
		bytes[i] = plan.trial[i].needs.bytes;
	plan_free(&plan);
	*size = bytes[0];
	assert_int_equal(bytes[2] - bytes[0], 7 * (bytes[1] - bytes[0]));
	return bytes[1] - bytes[0];
}

static void layouts_are_what_they_say(void **state)
{
	static const struct {
		const char *variant, *lock;
		size_t size;
	} table[] = {
		{ "add", NULL, 8 },
		{ "fetch-add", NULL, 8 },
		{ "compare-exchange", NULL, 8 },
		{ "lock", "mutex", sizeof(struct guarded_by_mutex) },
		{ "lock", "spin", 16 },
		{ "lock", "ticket", 16 },
		{ "lock", "mcs", 16 },
		{ "lock", "futex", 16 },
	};
	static const size_t lines[] = { 32, 64, 128, 256 };
	const char *error;
	struct machine *m = machine_open("core:8 pu:1", &error);
	size_t size;

	(void)state;
	assert_non_null(m);
	for (size_t i = 0; i < LENGTH(table); i++)
		for (size_t j = 0; j < LENGTH(lines); j++) {
			m->line = lines[j];
			assert_int_equal(
				stride(m, QUICK, table[i].variant, "shared", table[i].lock, &size),
				0);
			assert_int_equal(size, table[i].size);
			assert_int_equal(
				stride(m, QUICK, table[i].variant, "dense", table[i].lock, &size),
				table[i].size);
			/*
			 * two lines: the adjacent-line prefetcher must not fetch another thread's
			 * word
			 */
			assert_int_equal(
				stride(m, QUICK, table[i].variant, "padded", table[i].lock, &size),
				2 * lines[j] < 128 ? 128 : 2 * lines[j]);
			/* as published: words of 4 bytes, padded to 64 */
			assert_int_equal(
				stride(m, PAPER, table[i].variant, "dense", table[i].lock, &size),
				table[i].lock ? table[i].size : 4);
			assert_int_equal(
				stride(m, PAPER, table[i].variant, "padded", table[i].lock, &size),
				64);
		}
	machine_close(m);
}

/* ---- the table ---- */

static void add(struct suite *s, const char *subject, const char *what, CMUnitTestFunction function,
		const void *row)
{
	suite_add(s, subject, what, function, begin_bounded, end_bounded, row);
}

int main(void)
{
	static struct suite s;
	const char *why_not = unreadable();

	add(&s, "looks", "are_as_rare_wherever_words_are", looks_are_as_rare_wherever_words_are,
	    NULL);
	add(&s, "work", "counts_when_all_are_at_work", counts_when_all_are_at_work, NULL);
	add(&s, "lock", "and_word_are_on_one_line", lock_and_word_are_on_one_line, NULL);
	add(&s, "lines", "and_nodes_are_apart", nodes_and_lines_are_apart, NULL);
	add(&s, "layouts", "are_what_they_say", layouts_are_what_they_say, NULL);
	for (size_t i = 0; !why_not && i < LENGTH(shapes) && shapes[i].function; i++)
		add(&s, shapes[i].function,
		    shapes[i].extent == LOOP ? "loops_as_meant" : "is_what_it_claims",
		    has_the_shape_that_was_meant, &shapes[i]);
	if (why_not)
		printf("# machine code not looked at: %s\n", why_not);
	return _cmocka_run_group_tests("sharing", s.test, s.n, NULL, NULL);
}
