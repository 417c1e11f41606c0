/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sharing and core-to-core: the machine code of their kernels, what they compute, locks, layouts.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bench/core-to-core/core-to-core.h"
#include "bench/sharing/kernels.h"
#include "benchmarks.h"
#include "bounded.h"
#include "code.h"
#include "harness/plan/plan.h"
#include "machine/memory/arena.h"
#include "machine/topology/topology.h"
#include "machine/memory/region.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

enum { MOST_THREADS = 16 };

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

/* ---- threads ---- */

/* The CPUs that this process may use; run_on() restricts it to some of them. */
static cpu_set_t all_cpus;

static void run_on(unsigned cpus)
{
	cpu_set_t some;

	CPU_ZERO(&some);
	for (int cpu = 0; cpus && cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all_cpus)) {
			CPU_SET(cpu, &some);
			cpus--;
		}
	assert_int_equal(sched_setaffinity(0, sizeof(some), &some), 0);
}

static int remember_cpus(void **state)
{
	(void)state;
	return sched_getaffinity(0, sizeof(all_cpus), &all_cpus);
}

/* Threads inherit the CPUs of their creator, so each test must leave all of them allowed. */
static int end_on_all(void **state)
{
	return end_bounded(state) || sched_setaffinity(0, sizeof(all_cpus), &all_cpus);
}

struct task {
	pthread_t thread;
	unsigned index;
	void *about;
	struct mcs_node node;
};

static struct task *begin_tasks(unsigned n, void *(*run)(void *), void *about)
{
	struct task *tasks = aligned_alloc(APART, n * sizeof(*tasks));

	assert_non_null(tasks);
	for (unsigned i = 0; i < n; i++) {
		tasks[i].index = i;
		tasks[i].about = about;
		if (run)
			assert_int_equal(pthread_create(&tasks[i].thread, NULL, run, &tasks[i]), 0);
	}
	return tasks;
}

static void end_tasks(struct task *tasks, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		pthread_join(tasks[i].thread, NULL);
	free(tasks);
}

/* ---- updates ---- */

/*
 * A first-come, first-served lock may hand over to a thread without a CPU at each turn, and others
 * then spin LOCK_SPINS times in vain: it has fewer turns.
 */
enum { MANY_TURNS = 5000, FEW_TURNS = 500 };

struct operation {
	const char *name;
	update *run;
	size_t word, bytes;
	bool loses, mutex;
	unsigned turns;
};
static const struct operation operations[] = {
	{ "update_add", update_add, 0, 8, true, false, MANY_TURNS },
	{ "update_add_32", update_add_32, 0, 4, true, false, MANY_TURNS },
	{ "update_fetch_add", update_fetch_add, 0, 8, false, false, MANY_TURNS },
	{ "update_fetch_add_32", update_fetch_add_32, 0, 4, false, false, MANY_TURNS },
	{ "update_compare_exchange", update_compare_exchange, 0, 8, false, false, MANY_TURNS },
	{ "update_compare_exchange_32", update_compare_exchange_32, 0, 4, false, false,
	  MANY_TURNS },
	{ "update_mutex", update_mutex, offsetof(struct guarded_by_mutex, word), 8, false, true,
	  MANY_TURNS },
	{ "update_spin", update_spin, offsetof(struct guarded_by_spin, word), 8, false, false,
	  MANY_TURNS },
	{ "update_ticket", update_ticket, offsetof(struct guarded_by_ticket, word), 8, false, false,
	  FEW_TURNS },
	{ "update_mcs", update_mcs, offsetof(struct guarded_by_mcs, word), 8, false, false,
	  FEW_TURNS },
	{ "update_futex", update_futex, offsetof(struct guarded_by_futex, word), 8, false, false,
	  MANY_TURNS },
	/* nothing is written behind the lock */
	{ "empty_mutex", empty_mutex, sizeof(pthread_mutex_t), 0, false, true, MANY_TURNS },
	{ "empty_spin", empty_spin, sizeof(struct spin_lock), 0, false, false, MANY_TURNS },
	{ "empty_ticket", empty_ticket, sizeof(struct ticket_lock), 0, false, false, FEW_TURNS },
	{ "empty_mcs", empty_mcs, sizeof(struct mcs_lock), 0, false, false, FEW_TURNS },
	{ "empty_futex", empty_futex, sizeof(struct futex_lock), 0, false, false, MANY_TURNS },
};

enum { ROOM = 64, BEYOND = 0x5a }; /* most bytes of lock and word; the byte behind them */

struct updates {
	const struct operation *operation;
	uint64_t each;
	_Atomic unsigned here; /* threads */
	_Alignas(64) unsigned char place[2 * ROOM];
};

static void begin_updates(struct updates *u, const struct operation *o, uint64_t each)
{
	u->operation = o;
	u->each = each;
	u->here = 0;
	memset(u->place, 0, sizeof(u->place));
	if (o->mutex)
		pthread_mutex_init((pthread_mutex_t *)u->place, NULL);
	memset(u->place + o->word + o->bytes, BEYOND, sizeof(u->place) - o->word - o->bytes);
}

static uint64_t word_of(const struct updates *u)
{
	uint64_t word = 0;

	/* little-endian, as all supported architectures are */
	memcpy(&word, u->place + u->operation->word, u->operation->bytes);
	for (size_t i = u->operation->word + u->operation->bytes; i < sizeof(u->place); i++)
		assert_int_equal(u->place[i], BEYOND);
	return word;
}

enum { AT_ONCE = 2 }; /* threads; tests of locks below have more threads than CPUs */

static void *update_often(void *argument)
{
	struct task *t = argument;
	struct updates *u = t->about;

	/* without this barrier the first thread would be done before the next one starts */
	for (atomic_fetch_add(&u->here, 1); atomic_load(&u->here) < AT_ONCE;)
		sched_yield();
	u->operation->run(u->place, &t->node, u->each);
	return NULL;
}

/* With one thread, each operation adds exactly as often as told. */
static void counts_alone(void **state)
{
	static const uint64_t counts[] = { 0, 1, 2, 3, 4, 5, 255, 256, 1000 };
	struct updates u;
	struct mcs_node node;

	for (size_t i = 0; i < LENGTH(counts); i++) {
		begin_updates(&u, *state, counts[i]);
		u.operation->run(u.place, &node, counts[i]);
		u.operation->run(u.place, &node, counts[i]);
		assert_int_equal(word_of(&u), u.operation->bytes ? 2 * counts[i] : 0);
	}
}

/* With two threads, no update is lost, except by operations that are not atomic. */
static void counts_together(void **state)
{
	const struct operation *operation = *state;
	struct updates u;

	begin_updates(&u, operation, operation->turns);
	end_tasks(begin_tasks(AT_ONCE, update_often, &u), AT_ONCE);
	if (operation->loses)
		assert_in_range(word_of(&u), 1, AT_ONCE * operation->turns);
	else
		assert_int_equal(word_of(&u), operation->bytes ? AT_ONCE * operation->turns : 0);
}

/* ---- locks ---- */

union any_lock {
	pthread_mutex_t mutex;
	struct spin_lock spin;
	struct ticket_lock ticket;
	struct mcs_lock mcs;
	struct futex_lock futex;
};

#define BY_NAME(KIND)                                                       \
	static void acquire_##KIND(union any_lock *l, struct mcs_node *own) \
	{                                                                   \
		(void)own;                                                  \
		KIND##_lock_acquire(&l->KIND);                              \
	}                                                                   \
	static void release_##KIND(union any_lock *l, struct mcs_node *own) \
	{                                                                   \
		(void)own;                                                  \
		KIND##_lock_release(&l->KIND);                              \
	}
BY_NAME(spin)
BY_NAME(ticket)
BY_NAME(futex)

static void acquire_mutex(union any_lock *l, struct mcs_node *own)
{
	(void)own;
	pthread_mutex_lock(&l->mutex);
}

static void release_mutex(union any_lock *l, struct mcs_node *own)
{
	(void)own;
	pthread_mutex_unlock(&l->mutex);
}

static void acquire_mcs(union any_lock *l, struct mcs_node *own)
{
	mcs_lock_acquire(&l->mcs, own);
}

static void release_mcs(union any_lock *l, struct mcs_node *own)
{
	mcs_lock_release(&l->mcs, own);
}

/*
 * Whether the newest of `comers` (the holder included) has its place in the queue. Only locks that
 * serve in order of arrival can tell.
 */
static bool ticket_is_drawn(const union any_lock *l, const struct mcs_node *own, unsigned comers)
{
	(void)own;
	return atomic_load(&l->ticket.next) == comers;
}

static bool mcs_is_queued(const union any_lock *l, const struct mcs_node *own, unsigned comers)
{
	(void)comers;
	return atomic_load(&l->mcs.tail) == own;
}

struct kind_of_lock {
	const char *name;
	void (*acquire)(union any_lock *, struct mcs_node *),
		(*release)(union any_lock *, struct mcs_node *);
	/* NULL: promises no order */
	bool (*queued)(const union any_lock *, const struct mcs_node *own, unsigned comers);
};
static const struct kind_of_lock kinds[] = {
	{ "mutex", acquire_mutex, release_mutex, NULL },
	{ "spin", acquire_spin, release_spin, NULL },
	{ "ticket", acquire_ticket, release_ticket, ticket_is_drawn },
	{ "mcs", acquire_mcs, release_mcs, mcs_is_queued },
	{ "futex", acquire_futex, release_futex, NULL },
};

/* The guarded data are plain variables: ThreadSanitizer reports a lock that does not guard them. */
struct guarded {
	const struct kind_of_lock *kind;
	union any_lock lock;
	unsigned each;
	bool inside; /* a thread holds the lock */
	uint64_t entries, collisions;
	unsigned entered[MOST_THREADS]; /* threads, in order of entry */
};

static void guard(struct guarded *g, const struct kind_of_lock *kind, unsigned each)
{
	memset(g, 0, sizeof(*g)); /* all zeros is unlocked */
	g->kind = kind;
	g->each = each;
	if (kind == &kinds[0])
		pthread_mutex_init(&g->lock.mutex, NULL);
}

static void *enter_often(void *argument)
{
	struct task *t = argument;
	struct guarded *g = t->about;

	for (unsigned i = 0; i < g->each; i++) {
		g->kind->acquire(&g->lock, &t->node);
		g->collisions += g->inside;
		g->inside = true;
		/* with one CPU, other threads run during a critical section only if it yields */
		if (i % MOST_THREADS == t->index)
			sched_yield();
		g->entries++;
		g->inside = false;
		g->kind->release(&g->lock, &t->node);
	}
	return NULL;
}

static void keeps_others_out_on(const struct kind_of_lock *kind, unsigned cpus)
{
	const unsigned threads = (unsigned)CPU_COUNT(&all_cpus) + 2 < MOST_THREADS
					 ? (unsigned)CPU_COUNT(&all_cpus) + 2
					 : MOST_THREADS;
	const unsigned each = kind->queued ? 4 * MOST_THREADS : FEW_TURNS;
	struct guarded g;

	run_on(cpus);
	guard(&g, kind, each);
	end_tasks(begin_tasks(threads, enter_often, &g), threads);
	assert_int_equal(g.collisions, 0);
	assert_int_equal(g.entries, threads * each);
}

/* More threads than CPUs: a waiting thread must yield to the one that it waits for. */
static void keeps_others_out(void **state)
{
	keeps_others_out_on(*state, CPU_SETSIZE);
}

static void keeps_others_out_on_one_cpu(void **state)
{
	keeps_others_out_on(*state, 1);
}

static void *enter_once(void *argument)
{
	struct task *t = argument;
	struct guarded *g = t->about;

	g->kind->acquire(&g->lock, &t->node);
	g->entered[g->entries++] = t->index;
	g->kind->release(&g->lock, &t->node);
	return NULL;
}

/*
 * While the lock is held, threads come one by one, each after the one before is seen in the queue.
 * When it is released, they must enter in that order.
 */
static void lets_in_as_they_came_on(const struct kind_of_lock *kind, unsigned cpus)
{
	enum { COMERS = 12 };
	struct mcs_node own;
	struct guarded g;
	struct task *tasks;

	run_on(cpus);
	guard(&g, kind, 1);
	tasks = begin_tasks(COMERS, NULL, &g);
	kind->acquire(&g.lock, &own);
	for (unsigned i = 0; i < COMERS; i++) {
		const unsigned who = i * 5 % COMERS; /* not in the order of their addresses */

		assert_int_equal(pthread_create(&tasks[who].thread, NULL, enter_once, &tasks[who]),
				 0);
		while (!kind->queued(&g.lock, &tasks[who].node, i + 2))
			sched_yield();
	}
	assert_int_equal(g.entries, 0);
	kind->release(&g.lock, &own);
	end_tasks(tasks, COMERS);
	assert_int_equal(g.entries, COMERS);
	for (unsigned i = 0; i < COMERS; i++)
		assert_int_equal(g.entered[i], i * 5 % COMERS);
}

static void lets_in_as_they_came(void **state)
{
	lets_in_as_they_came_on(*state, CPU_SETSIZE);
}

static void lets_in_as_they_came_on_one_cpu(void **state)
{
	lets_in_as_they_came_on(*state, 1);
}

/*
 * The second thread comes after the first has released the lock, which it learns by a relaxed flag.
 * The flag orders nothing, so the first one's writes are visible only by the lock's own ordering.
 */
static _Atomic bool gone;

static void *one_after_the_other(void *argument)
{
	struct task *t = argument;
	struct guarded *g = t->about;

	while (t->index && !atomic_load_explicit(&gone, memory_order_relaxed))
		sched_yield();
	g->kind->acquire(&g->lock, &t->node);
	g->entered[g->entries++] = t->index;
	g->kind->release(&g->lock, &t->node);
	atomic_store_explicit(&gone, true, memory_order_relaxed);
	return NULL;
}

static void shows_what_was_done_inside(void **state)
{
	struct guarded g;

	guard(&g, *state, 1);
	gone = false;
	end_tasks(begin_tasks(2, one_after_the_other, &g), 2);
	assert_int_equal(g.entries, 2);
	assert_true(g.entered[0] == 0 && g.entered[1] == 1);
}

/* A lock that was released with no waiters is in its initial state. */
static void is_free_again(void **state)
{
	struct mcs_node own;
	struct guarded g;

	guard(&g, *state, 0);
	for (unsigned i = 0; i < 3; i++) {
		g.kind->acquire(&g.lock, &own);
		g.kind->release(&g.lock, &own);
	}
	if (g.kind->acquire == acquire_mutex)
		assert_int_equal(pthread_mutex_trylock(&g.lock.mutex), 0);
	else if (g.kind->acquire == acquire_ticket)
		assert_int_equal(g.lock.ticket.next, g.lock.ticket.serving);
	else
		assert_int_equal(*(const unsigned char *)&g.lock, 0);
}

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

/* Both sides end, and leave the lines as they were, so that the next exchange can use them. */
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
	/* payloads are sequence numbers: the ring has the last RING of 2 * turns */
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

/* ---- the work ---- */

/* A trial without the harness: workers are run by hand, one after the other. */
struct trial_by_hand {
	struct trial trial;
	union value value[16];
	struct place place[MOST_THREADS];
	struct worker worker[MOST_THREADS];
	_Atomic bool stop;
	void *state;
};

static void set(struct trial_by_hand *h, const char *name, unsigned value)
{
	const struct parameter *p = h->trial.benchmark->parameters;

	for (unsigned i = 0; i < h->trial.benchmark->n_parameters; i++)
		if (strcmp(p[i].name, name) == 0) {
			if (p[i].type == P_CHOICE)
				h->value[i].choice = value;
			else
				h->value[i].count = value;
		}
}

static void prepare(struct trial_by_hand *h, const struct benchmark *benchmark, const char *variant,
		    unsigned threads, const char *parameter, unsigned value)
{
	const char *error;

	memset(h, 0, sizeof(*h));
	h->trial = (struct trial){ .benchmark = benchmark,
				   .variant = benchmark->variants,
				   .value = h->value,
				   .threads = threads,
				   .place = h->place,
				   .machine = machine_open("core:16 pu:1", &error) };
	while (strcmp(h->trial.variant->name, variant))
		h->trial.variant++;
	set(h, "lines", 16);
	set(h, "word", 1);
	set(h, "padding", 128);
	set(h, parameter, value);
	assert_non_null(h->trial.machine);
	h->trial.arena = arena_open(h->trial.machine);
	assert_non_null(h->trial.arena);
	h->state = benchmark->ops.prepare(&h->trial);
	assert_non_null(h->state);
	if (benchmark->ops.reset)
		benchmark->ops.reset(h->state);
}

static const struct worker *run(struct trial_by_hand *h, unsigned worker, uint64_t count)
{
	struct worker *w = &h->worker[worker];

	*w = (struct worker){
		.index = worker, .threads = h->trial.threads, .count = count, .stop = &h->stop
	};
	h->trial.benchmark->ops.work(h->state, w);
	return w;
}

static void release(struct trial_by_hand *h)
{
	assert_null(h->trial.benchmark->ops.verify(h->state, &h->trial));
	h->trial.benchmark->ops.release(h->state);
	arena_close(h->trial.arena);
	machine_close((struct machine *)h->trial.machine);
}

/* Variants with the parameter that moves the words, in which points of a curve or ratio differ. */
static const struct {
	const char *variant, *parameter;
	unsigned values[6], n;
} places[] = {
	{ "distance", "distance", { 4, 32, 64, 128, 256, 4096 }, 6 },
	{ "add", "layout", { 0, 1, 2 }, 3 },
	{ "fetch-add", "layout", { 0, 1, 2 }, 3 },
};

/*
 * The stop flag is checked after the same number of operations wherever the words lie, so the cost
 * of calls and checks is the same in all trials that are compared.
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
				/* of a block of 201 that ends after the flag was raised, half */
				assert_int_equal(h.worker[last].together, 101);
				release(&h);
			}
}

/* `together` counts operations from the last worker's start; those before it are not scored. */
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

/* ---- counting transfers: the kernel plays against the other side's protocol, written here ---- */

/*
 * Takes a turn of the other side, if it has one. Returns the transfers of the line that this turn
 * and the kernel's turn before it make; 0: it is not the other side's turn.
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

/* Each pair has lines of its own at each meeting. */
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
 * In a batch, a pair meets on the lines of as many places as there are: else the slices of its own
 * few lines would be part of its number.
 */
static void places_change_from_round_to_round(void **state)
{
	enum { PLAYERS = 9, MEETINGS = 16 };
	static unsigned sat[PLAYERS][PLAYERS]; /* by pair, the places: a bit for each */
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
			assert_false(taken & 1u << place); /* no two pairs on one line */
			taken |= 1u << place;
			sat[a][b] |= 1u << place;
		}
	}
	for (unsigned a = 0; a < PLAYERS; a++)
		for (unsigned b = a + 1; b < PLAYERS; b++)
			assert_int_equal(sat[a][b], (1u << c->tables) - 1);
	release(&h);
}

/* Whoever had a line before: a pair has exchanged all of its lines before its time begins. */
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
			/* two lines: the adjacent-line prefetcher must not fetch another's word */
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

struct suite {
	size_t n;
	char name[96][96];
	struct CMUnitTest test[96];
};

static void add(struct suite *s, const char *subject, const char *what, CMUnitTestFunction function,
		const void *about)
{
	snprintf(s->name[s->n], sizeof(s->name[0]), "%s_%s", subject, what);
	s->test[s->n] = (struct CMUnitTest){ s->name[s->n], function, begin_bounded, end_on_all,
					     (void *)about };
	s->n++;
}

int main(void)
{
	static struct suite s;
	const char *why_not = unreadable();

	for (size_t i = 0; i < LENGTH(operations); i++) {
		add(&s, operations[i].name, "counts_alone", counts_alone, &operations[i]);
		add(&s, operations[i].name, "counts_together", counts_together, &operations[i]);
	}
	for (size_t i = 0; i < LENGTH(kinds); i++) {
		add(&s, kinds[i].name, "keeps_others_out", keeps_others_out, &kinds[i]);
		add(&s, kinds[i].name, "keeps_others_out_on_one_cpu", keeps_others_out_on_one_cpu,
		    &kinds[i]);
		add(&s, kinds[i].name, "is_free_again", is_free_again, &kinds[i]);
		add(&s, kinds[i].name, "shows_what_was_done_inside", shows_what_was_done_inside,
		    &kinds[i]);
		if (!kinds[i].queued)
			continue;
		add(&s, kinds[i].name, "lets_in_as_they_came", lets_in_as_they_came, &kinds[i]);
		add(&s, kinds[i].name, "lets_in_as_they_came_on_one_cpu",
		    lets_in_as_they_came_on_one_cpu, &kinds[i]);
	}
	for (size_t i = 0; i < LENGTH(protocols); i++) {
		add(&s, protocols[i].name, "gives_to_and_fro", gives_to_and_fro, &protocols[i]);
		add(&s, protocols[i].name, "gives_to_and_fro_on_one_cpu",
		    gives_to_and_fro_on_one_cpu, &protocols[i]);
	}
	add(&s, "looks", "are_as_rare_wherever_words_are", looks_are_as_rare_wherever_words_are,
	    NULL);
	add(&s, "work", "counts_when_all_are_at_work", counts_when_all_are_at_work, NULL);
	add(&s, "transfers", "are_all_counted", transfers_are_all_counted, NULL);
	add(&s, "places", "of_lines_are_all_different", places_are_all_different, NULL);
	add(&s, "places", "change_from_round_to_round", places_change_from_round_to_round, NULL);
	add(&s, "lines", "are_taken_over_before_the_time_begins",
	    lines_are_taken_over_before_the_time_begins, NULL);
	add(&s, "lock", "and_word_are_on_one_line", lock_and_word_are_on_one_line, NULL);
	add(&s, "lines", "and_nodes_are_apart", nodes_and_lines_are_apart, NULL);
	add(&s, "layouts", "are_what_they_say", layouts_are_what_they_say, NULL);
	for (size_t i = 0; !why_not && i < LENGTH(shapes) && shapes[i].function; i++)
		add(&s, shapes[i].function,
		    shapes[i].extent == LOOP ? "loops_as_meant" : "is_what_it_claims",
		    has_the_shape_that_was_meant, &shapes[i]);
	if (why_not)
		printf("# machine code not looked at: %s\n", why_not);
	return _cmocka_run_group_tests("sharing", s.test, s.n, remember_cpus, NULL);
}
