/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/futex.h>
#include <omp.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/relax.h"
#include "machine/clock.h"
#include "machine/threads/affinity.h"
#include "machine/threads/team.h"

/*
 * Turns of a waiting loop before it yields: some 10 us, more than a barrier of pinned threads
 * takes, but less than a slice of the scheduler.
 */
#define SPINS 2000
/*
 * Yields before an idle worker sleeps: while worker 0 prepares, waiting workers must not use power,
 * nor slow their SMT siblings.
 */
#define YIELDS 50

#define WIDTH_LINKS 2048 /* steps of clock_width(): 3 us, twice a sample */

struct order {
	void (*task)(void *, struct worker *);
	void *argument;
	bool timed, quit;
	unsigned watched;
};

/*
 * Announces a new order to a worker. Each worker has its own mailbox, so that those without a seat
 * stay asleep.
 */
struct mailbox {
	_Alignas(APART) _Atomic uint32_t orders; /* number of orders so far; a futex */
	_Atomic uint32_t asleep;
};

struct team {
	unsigned size, threads;
	struct worker *worker;
	struct mailbox *mailbox;
	struct attendance *attendance;
	int *pin_error; /* by worker: errno of its last pinning */
	struct order order;
	void (*read)(void *, struct worker *, bool after); /* team_watch() */
	void *reader;
	void (*ready)(void *, struct worker *); /* team_ready() */
	/* Each on its own line, since threads spin on them. */
	_Alignas(APART) _Atomic uint32_t busy; /* workers that have not finished the order */
	_Alignas(APART) _Atomic uint32_t arrived, phase;
	/* watched workers that must finish before the stop flag is raised */
	_Alignas(APART) _Atomic uint32_t wanting;
	_Alignas(APART) _Atomic bool stop;
};

void team_barrier(struct team *t)
{
	uint32_t phase = atomic_load_explicit(&t->phase, memory_order_relaxed);

	if (atomic_fetch_add_explicit(&t->arrived, 1, memory_order_acq_rel) + 1 == t->threads) {
		atomic_store_explicit(&t->arrived, 0, memory_order_relaxed);
		atomic_store_explicit(&t->phase, phase + 1, memory_order_release);
		return;
	}
	for (unsigned turn = 0; atomic_load_explicit(&t->phase, memory_order_acquire) == phase;
	     turn++)
		relax(turn, SPINS);
}

static void work(struct team *t, struct worker *w, struct attendance *a)
{
	a->width[0] = clock_width(WIDTH_LINKS);
	team_barrier(t);
	/* after a first barrier, so that waiting for the others does not count as noise */
	usage_read(&a->before);
	team_barrier(t);
	if (t->ready)
		t->ready(t->order.argument, w);
	if (t->read)
		t->read(t->reader, w, false);
	a->begin = clock_now();
	t->order.task(t->order.argument, w);
	a->end = clock_now();
	/* Before reading the counters, which takes a while: other workers wait for the flag. */
	if (w->index < t->order.watched &&
	    atomic_fetch_sub_explicit(&t->wanting, 1, memory_order_acq_rel) == 1)
		atomic_store_explicit(&t->stop, true, memory_order_release);
	if (t->read)
		t->read(t->reader, w, true);
	usage_read(&a->after);
	a->width[1] = clock_width(WIDTH_LINKS);
}

static void obey(struct team *t, unsigned index)
{
	if (t->order.timed)
		work(t, &t->worker[index], &t->attendance[index]);
	else
		t->order.task(t->order.argument, &t->worker[index]);
	atomic_fetch_sub_explicit(&t->busy, 1, memory_order_release);
}

/*
 * No wake-up is lost between a worker's last look and its sleep: either the sender sees the
 * sequentially consistent flag, or the futex sees the new number.
 */
static void sleep_until_ordered(struct mailbox *m, uint32_t known)
{
	atomic_store(&m->asleep, 1);
	syscall(SYS_futex, &m->orders, FUTEX_WAIT_PRIVATE, known, NULL, NULL, 0);
	atomic_store(&m->asleep, 0);
}

/* The main loop of threads other than worker 0. */
static void serve(struct team *t, unsigned index)
{
	struct mailbox *m = &t->mailbox[index];

	for (uint32_t known = 0;; known++) {
		for (unsigned turn = 0;
		     atomic_load_explicit(&m->orders, memory_order_acquire) == known; turn++) {
			if (turn < SPINS + YIELDS)
				relax(turn, SPINS);
			else
				sleep_until_ordered(m, known);
		}
		if (t->order.quit)
			return;
		obey(t, index);
	}
}

static void give(struct team *t, struct order order)
{
	unsigned last = order.quit ? t->size : t->threads;

	t->order = order;
	atomic_store_explicit(&t->busy, t->threads, memory_order_relaxed);
	for (unsigned i = 1; i < last; i++) {
		atomic_fetch_add(&t->mailbox[i].orders, 1);
		if (atomic_load(&t->mailbox[i].asleep))
			syscall(SYS_futex, &t->mailbox[i].orders, FUTEX_WAKE_PRIVATE, 1, NULL, NULL,
				0);
	}
	if (order.quit)
		return;
	obey(t, 0);
	for (unsigned turn = 0; atomic_load_explicit(&t->busy, memory_order_acquire); turn++)
		relax(turn, SPINS);
}

void team_run(struct team *t, void (*task)(void *, struct worker *), void *argument)
{
	give(t, (struct order){ .task = task, .argument = argument });
}

static void raise_stop(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)context;
	atomic_store((_Atomic bool *)info->si_value.sival_ptr, true);
}

static bool set_alarm(struct team *t, double seconds, timer_t *timer)
{
	struct sigaction action = { .sa_sigaction = raise_stop,
				    .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL,
				  .sigev_signo = SIGRTMIN,
				  .sigev_value.sival_ptr = (void *)&t->stop };
	struct itimerspec due = {
		.it_value = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) }
	};

	sigset_t set;

	if (!due.it_value.tv_sec && !due.it_value.tv_nsec)
		due.it_value.tv_nsec = 1; /* zero would disarm the timer */
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	sigaction(SIGRTMIN, &action, NULL);
	if (timer_create(CLOCK_MONOTONIC, &event, timer))
		return false;
	if (timer_settime(*timer, 0, &due, NULL) == 0)
		return true;
	timer_delete(*timer);
	return false;
}

void team_time(struct team *t, void (*task)(void *, struct worker *), void *argument,
	       double deadline, unsigned watched, unsigned enough)
{
	timer_t timer;
	bool alarmed;

	if (watched > t->threads)
		watched = t->threads;
	atomic_store(&t->stop, false);
	atomic_store(&t->wanting, enough < watched ? enough : watched);
	alarmed = deadline > 0 && set_alarm(t, deadline, &timer);
	/* without a timer, an empty sample is better than an endless one */
	if (deadline > 0 && !alarmed)
		atomic_store(&t->stop, true);
	give(t, (struct order){
			.task = task, .argument = argument, .timed = true, .watched = watched });
	if (alarmed)
		timer_delete(timer);
}

void team_watch(struct team *t, void (*read)(void *, struct worker *, bool after), void *argument)
{
	t->read = read;
	t->reader = argument;
}

void team_ready(struct team *t, void (*ready)(void *, struct worker *))
{
	t->ready = ready;
}

const struct attendance *team_attendance(const struct team *t, unsigned worker)
{
	return &t->attendance[worker];
}

struct seating {
	struct team *team;
	const struct place *place;
	/* threads may move among these CPUs; NULL: each is pinned to its place */
	hwloc_const_bitmap_t within;
};

static void sit(void *argument, struct worker *w)
{
	const struct seating *s = argument;
	int cpu = s->place[w->index].cpu, ran_on;

	s->team->pin_error[w->index] = 0;
	if (s->within ? cpuset_set(s->within) : cpuset_set_one(cpu))
		s->team->pin_error[w->index] = errno;
	ran_on = sched_getcpu();
	/* the kernel has migrated the thread when the call returns: verify it */
	if (!s->team->pin_error[w->index] &&
	    !(s->within ? hwloc_bitmap_isset(s->within, (unsigned)ran_on) : ran_on == cpu))
		s->team->pin_error[w->index] = EXDEV;
	w->place = s->place[w->index];
}

int team_float(struct team *t, const struct place *place, unsigned threads,
	       hwloc_const_bitmap_t within, unsigned *culprit)
{
	if (threads > t->size) {
		*culprit = t->size;
		errno = EAGAIN;
		return -1;
	}
	t->threads = threads;
	for (unsigned i = 0; i < threads; i++) {
		t->worker[i].index = i;
		t->worker[i].threads = threads;
		t->worker[i].stop = &t->stop;
	}
	team_run(t, sit, &(struct seating){ t, place, within });
	for (unsigned i = 0; i < threads; i++) {
		if (!t->pin_error[i])
			continue;
		*culprit = i;
		errno = t->pin_error[i];
		return -1;
	}
	return 0;
}

int team_seat(struct team *t, const struct place *place, unsigned threads, unsigned *culprit)
{
	return team_float(t, place, threads, NULL, culprit);
}

unsigned team_threads(const struct team *t)
{
	return t->threads;
}

struct worker *team_worker(struct team *t, unsigned index)
{
	return &t->worker[index];
}

static void team_free(struct team *t)
{
	free(t->worker);
	free(t->mailbox);
	free(t->attendance);
	free(t->pin_error);
	free(t);
}

static struct team *team_new(unsigned size)
{
	struct team *t = apart_alloc(sizeof(*t));

	if (!t)
		return NULL;
	t->size = t->threads = size;
	t->worker = apart_alloc(size * sizeof(*t->worker));
	t->mailbox = apart_alloc(size * sizeof(*t->mailbox));
	t->attendance = apart_alloc(size * sizeof(*t->attendance));
	t->pin_error = calloc(size, sizeof(*t->pin_error));
	if (t->worker && t->mailbox && t->attendance && t->pin_error)
		return t;
	team_free(t);
	errno = ENOMEM;
	return NULL;
}

int team_open(unsigned threads, int (*body)(struct team *, void *), void *argument)
{
	struct team *t = team_new(threads);
	int result = -1, error = EAGAIN;

	if (!t)
		return -1;
	shortage_begin(threads);
#pragma omp parallel num_threads(threads) default(none) \
	shared(t, threads, body, argument, result, error)
	{
		if ((unsigned)omp_get_num_threads() == threads) {
			if (omp_get_thread_num() == 0) {
				shortage_end();
				result = body(t, argument);
				error = errno;
				give(t, (struct order){ .quit = true });
			} else {
				serve(t, (unsigned)omp_get_thread_num());
			}
		}
	}
	shortage_end();
	team_free(t);
	errno = error;
	return result;
}
