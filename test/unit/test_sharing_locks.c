/* SPDX-License-Identifier: Apache-2.0 */
/* The updates of sharing, and the locks: alone and together, on all CPUs and on one. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bench/sharing/kernels.h"
#include "suite.h"
#include "tasks.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

enum { MOST_THREADS = 16 };

/* ---- updates ---- */

/*
 * At each turn a first-come, first-served lock may hand over to a thread without a CPU, and others
 * then spin LOCK_SPINS times in vain: so it has fewer turns.
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
	/* nothing is written after the lock */
	{ "empty_mutex", empty_mutex, sizeof(pthread_mutex_t), 0, false, true, MANY_TURNS },
	{ "empty_spin", empty_spin, sizeof(struct spin_lock), 0, false, false, MANY_TURNS },
	{ "empty_ticket", empty_ticket, sizeof(struct ticket_lock), 0, false, false, FEW_TURNS },
	{ "empty_mcs", empty_mcs, sizeof(struct mcs_lock), 0, false, false, FEW_TURNS },
	{ "empty_futex", empty_futex, sizeof(struct futex_lock), 0, false, false, MANY_TURNS },
};

enum { ROOM = 64, BEYOND = 0x5a }; /* most bytes of lock and word; the byte after them */

struct updates {
	const struct operation *operation;
	uint64_t each;
	_Atomic unsigned here; /* threads */
	_Alignas(64) unsigned char place[2 * ROOM];
	_Alignas(64) uint64_t loses; /* updated by update_add() */
};

static void begin_updates(struct updates *u, const struct operation *o, uint64_t each)
{
	u->operation = o;
	u->each = each;
	u->here = 0;
	u->loses = 0;
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
/*
 * On a busy machine two threads may run one after the other, and lose nothing whatever they do. So
 * they alternate with an operation that does lose updates, longer each time, until it has lost a
 * hundredth of them: then they did run at once. Queues of threads without a CPU take too long for
 * that.
 */
enum { PARTS = 50, MEETINGS = 3, MOST_TRIES = 10, MOST_TIMES = 64 };

static void *update_often(void *argument)
{
	struct task *t = argument;
	struct updates *u = t->about;

	/* without this barrier the first thread would be done before the next one starts */
	for (atomic_fetch_add(&u->here, 1); atomic_load(&u->here) < AT_ONCE;)
		sched_yield();
	for (unsigned i = 0; i < PARTS; i++) {
		u->operation->run(u->place, &t->node, u->each / PARTS);
		update_add(&u->loses, &t->node, u->each / PARTS);
	}
	return NULL;
}

/* With one thread, each operation adds exactly as often as requested. */
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
	const unsigned most = operation->turns == MANY_TURNS ? MOST_TRIES : 1;
	struct updates u;

	for (unsigned met = 0, tries = 0; met < MEETINGS && tries < most; tries++) {
		const unsigned times = 1U << tries < MOST_TIMES ? 1U << tries : MOST_TIMES;
		const uint64_t all = (uint64_t)AT_ONCE * operation->turns * times;

		begin_updates(&u, operation, operation->turns * times);
		end_tasks(begin_tasks(AT_ONCE, update_often, &u), AT_ONCE);
		if (operation->loses)
			assert_in_range(word_of(&u), 1, all);
		else
			assert_int_equal(word_of(&u), operation->bytes ? all : 0);
		met += u.loses < all - all / 100;
	}
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
 * Whether the newest of `comers` (the holder included) is in the queue. Only locks that serve in
 * order of arrival can tell.
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

/* More threads than CPUs: a waiting thread must yield to the holder. */
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

/* ---- the table ---- */

static void add(struct suite *s, const char *subject, const char *what, CMUnitTestFunction function,
		const void *row)
{
	suite_add(s, subject, what, function, begin_bounded, end_on_all, row);
}

int main(void)
{
	static struct suite s;

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
	return _cmocka_run_group_tests("sharing_locks", s.test, s.n, remember_cpus, NULL);
}
