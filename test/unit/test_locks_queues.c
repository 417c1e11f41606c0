/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues of locks are served in order, a cohort lock node by node, but not for ever; readers keep a
 * writer out. test_locks.c has what holds for every kind.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/time.h>
#include <cmocka.h>

#include "bench/locks/kinds.h"
#include "bounded.h"
#include "hall.h"
#include "kit/spin.h"

static void hold_ticket(struct visitor *v)
{
	ticket_lock_acquire(v->lock);
}

static void leave_ticket(struct visitor *v)
{
	ticket_lock_release(v->lock);
}

static bool ticket_has(const struct visitor *v, unsigned comers)
{
	return atomic_load(&((const struct ticket_lock *)v->lock)->next) == comers + 1;
}

static void hold_mcs(struct visitor *v)
{
	mcs_lock_acquire(v->lock, &own_post(v)->mcs);
}

static void leave_mcs(struct visitor *v)
{
	mcs_lock_release(v->lock, &own_post(v)->mcs);
}

static bool mcs_has(const struct visitor *v, unsigned comers)
{
	(void)comers;
	return atomic_load(&((const struct mcs_lock *)v->lock)->tail) == &post_of(v, v->index)->mcs;
}

static void hold_clh(struct visitor *v)
{
	clh_lock_acquire(v->lock, &v->clh);
}

static void leave_clh(struct visitor *v)
{
	clh_lock_release(&v->clh);
}

static bool clh_has(const struct visitor *v, unsigned comers)
{
	(void)comers;
	return atomic_load(&((const struct clh_lock *)v->lock)->tail) ==
	       &post_of(v, v->index)->clh[0];
}

static void hold_cohort(struct visitor *v)
{
	cohort_lock_acquire(v->lock, v->cohort);
}

static void leave_cohort(struct visitor *v)
{
	cohort_lock_release(v->lock, v->cohort);
}

/* Tickets drawn at both nodes: the holder's, and one for each comer. */
static bool cohort_has(const struct visitor *v, unsigned comers)
{
	enum { FIRST_OF_OTHER_NODE = 3 };

	return atomic_load(&post_of(v, 0)->cohort.lock.next) +
		       atomic_load(&post_of(v, FIRST_OF_OTHER_NODE)->cohort.lock.next) ==
	       comers + 1;
}

static void hold_flags(struct visitor *v)
{
	flags_lock_write(v->lock);
}

static void leave_flags(struct visitor *v)
{
	flags_lock_unwrite(v->lock);
}

static bool flags_has(const struct visitor *v, unsigned comers)
{
	return atomic_load(&((const struct flags_lock *)v->lock)->writers.next) == comers + 1;
}

enum { COMERS = 4 };
static const struct queue {
	const char *variant;
	void (*hold)(struct visitor *), (*leave)(struct visitor *);
	/* whether the visitor, the newest of so many, is in the queue */
	bool (*has)(const struct visitor *, unsigned comers);
	unsigned order[COMERS]; /* the order in which the threads are served */
} queues[] = {
	{ "ticket", hold_ticket, leave_ticket, ticket_has, { 3, 1, 4, 2 } },
	{ "mcs", hold_mcs, leave_mcs, mcs_has, { 3, 1, 4, 2 } },
	{ "clh", hold_clh, leave_clh, clh_has, { 3, 1, 4, 2 } },
	{ "flags", hold_flags, leave_flags, flags_has, { 3, 1, 4, 2 } },
	/* first the threads of the holder's node */
	{ "cohort", hold_cohort, leave_cohort, cohort_has, { 1, 2, 3, 4 } },
};

struct comer {
	pthread_t thread;
	struct hall *hall;
	unsigned index;
};

static void *come(void *argument)
{
	const struct comer *c = argument;

	visit(c->hall, c->index, 1);
	return NULL;
}

/*
 * While thread 0 holds the lock, others come one by one, each after the one before is in the queue.
 * The table of distances tells each one its expected predecessor.
 */
static void test_the_queue_is_served_in_its_order(void **state)
{
	static const unsigned arrival[COMERS] = { 3, 1, 4, 2 };
	static const int cpus[] = { 0, 2, 4, 8, 10 };
	const struct queue *q = *state;
	unsigned char tables[COMERS + 1][COMERS + 1];
	struct comer comers[COMERS];
	struct visitor *holder;
	struct hall h;

	plan(&h, q->variant, COMERS + 1, cpus);
	begin(&h);
	memset(tables, DISTANCE_FAR, sizeof(tables));
	for (unsigned i = 0, before = 0; i < COMERS; before = q->order[i++]) {
		tables[q->order[i]][before] = DISTANCE_CORE;
		locks_visitor(h.state, q->order[i])->distance = tables[q->order[i]];
	}
	holder = locks_visitor(h.state, 0);
	q->hold(holder);
	for (unsigned i = 0; i < COMERS; i++) {
		const struct visitor *v = locks_visitor(h.state, arrival[i]);

		comers[i] = (struct comer){ .hall = &h, .index = arrival[i] };
		assert_int_equal(pthread_create(&comers[i].thread, NULL, come, &comers[i]), 0);
		while (!q->has(v, i + 1))
			sched_yield();
	}
	assert_int_equal(holder->guarded->count, 0);
	q->leave(holder);
	for (unsigned i = 0; i < COMERS; i++)
		pthread_join(comers[i].thread, NULL);
	assert_int_equal(holder->guarded->count, COMERS);
	for (unsigned i = 1; i <= COMERS; i++)
		assert_int_equal(handed(&h, i, DISTANCE_CORE), 1);
	end(&h);
}

/* The holder's node passes the lock on 64 times, then releases it to the other node. */
static void test_a_node_does_not_keep_the_lock(void **state)
{
	struct cohort_lock lock = { 0 };
	struct cohort_node node = { 0 };

	(void)state;
	for (unsigned round = 0; round < 2; round++) {
		cohort_lock_acquire(&lock, &node);
		for (unsigned i = 0; i < COHORT_PASSES; i++) {
			atomic_fetch_add(&node.lock.next, 1); /* another thread of the node comes */
			cohort_lock_release(&lock, &node);
			assert_true(node.passed);
			assert_int_equal(lock.global.next, lock.global.serving + 1);
		}
		atomic_fetch_add(&node.lock.next, 1);
		cohort_lock_release(&lock, &node);
		assert_false(node.passed);
		assert_int_equal(lock.global.next, lock.global.serving);
		/* that thread has the node's lock, and takes the global one */
		ticket_lock_acquire(&lock.global);
		cohort_lock_release(&lock, &node);
		assert_false(node.passed);
		assert_int_equal(lock.global.next, lock.global.serving);
		assert_int_equal(node.lock.next, node.lock.serving);
	}
}

/* An announced writer waits for the reader; the next reader waits for the writer. */
static void test_readers_keep_a_writer_out(void **state)
{
	struct hall h;
	struct comer writer = { .hall = &h, .index = 1 };
	struct visitor *v;
	struct flags_lock *lock;

	(void)state;
	plan(&h, "flags", 2, NULL);
	begin(&h);
	v = locks_visitor(h.state, 0);
	lock = v->lock;
	flags_lock_read(lock, &post_of(v, 0)->reading);
	assert_int_equal(pthread_create(&writer.thread, NULL, come, &writer), 0);
	while (!atomic_load(&lock->writing))
		sched_yield();
	for (unsigned i = 0; i < 100; i++) {
		sched_yield();
		assert_int_equal(v->guarded->count, 0);
	}
	flags_lock_unread(&post_of(v, 0)->reading);
	flags_lock_read(lock, &post_of(v, 0)->reading);
	assert_int_equal(v->guarded->count, 1);
	flags_lock_unread(&post_of(v, 0)->reading);
	pthread_join(writer.thread, NULL);
	assert_null(wrong(&h));
	end(&h);
}

/*
 * Tests the release of an MCS lock while the next thread has taken the tail, but not yet linked
 * itself to the holder. Between threads this window lasts nanoseconds: a signal handler plays the
 * next thread.
 */
static struct mcs_node holder_node, next_node;

static void link_next(int signal)
{
	(void)signal;
	atomic_store_explicit(&holder_node.next, &next_node, memory_order_release);
}

static void test_a_release_waits_for_the_next_one_to_link(void **state)
{
	const struct itimerval soon = { .it_value = { 0, 20000 } };
	struct mcs_lock lock = { &next_node };

	(void)state;
	next_node.waiting = true;
	assert_true(signal(SIGALRM, link_next) != SIG_ERR);
	assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
	mcs_lock_release(&lock, &holder_node);
	assert_false(next_node.waiting);
	assert_ptr_equal(lock.tail, &next_node);
	signal(SIGALRM, SIG_DFL);
}

static void *wait_for_spin(void *argument)
{
	struct spin_lock *lock = argument;
	bool alone;

	spin_lock_acquire(lock);
	alone = !spin_lock_try(lock);
	spin_lock_release(lock);
	return (void *)(uintptr_t)alone;
}

/*
 * A thread that waited for a spin lock must hold it, not only have seen it free. Any number but 0
 * means held; it becomes 1 when the other thread has tried.
 */
static void test_who_waited_has_the_spin_lock(void **state)
{
	struct spin_lock lock = { .held = 2 };
	pthread_t thread;
	void *alone;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, wait_for_spin, &lock), 0);
	while (atomic_load(&lock.held) == 2)
		sched_yield();
	spin_lock_release(&lock);
	pthread_join(thread, &alone);
	assert_non_null(alone);
	assert_int_equal(lock.held, 0);
}

#define OF_QUEUE(N)                                                                              \
	{                                                                                        \
		.name = "the_queue_is_served_in_its_order_" #N,                                  \
		.test_func = test_the_queue_is_served_in_its_order, .setup_func = begin_bounded, \
		.teardown_func = end_bounded, .initial_state = (void *)&queues[N],               \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		OF_QUEUE(0),
		OF_QUEUE(1),
		OF_QUEUE(2),
		OF_QUEUE(3),
		OF_QUEUE(4),
		cmocka_unit_test(test_a_node_does_not_keep_the_lock),
		cmocka_unit_test_setup_teardown(test_readers_keep_a_writer_out, begin_bounded,
						end_bounded),
		cmocka_unit_test(test_a_release_waits_for_the_next_one_to_link),
		cmocka_unit_test_setup_teardown(test_who_waited_has_the_spin_lock, begin_bounded,
						end_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
