/* SPDX-License-Identifier: Apache-2.0 */
/* A pool of threads, one pinned to each of some CPUs. */
#include "count/likwid.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "machine/threads/affinity.h"

struct cputhread {
	struct cputhreads *all;
	unsigned index;
	int cpu, error; /* errno of its pinning */
	pthread_t thread;
	bool called; /* has an unfinished task */
};

struct cputhreads {
	pthread_mutex_t lock; /* protects all that follows */
	pthread_cond_t call, finish;
	struct cputhread *thread;
	unsigned threads, busy;
	void (*task)(void *, unsigned);
	void *argument;
	bool quit;
};

static void finish(struct cputhread *t)
{
	struct cputhreads *all = t->all;

	pthread_mutex_lock(&all->lock);
	t->called = false;
	if (!--all->busy)
		pthread_cond_signal(&all->finish);
	pthread_mutex_unlock(&all->lock);
}

/* Waits for a task. False: the thread should end. */
static bool await_call(struct cputhread *t)
{
	struct cputhreads *all = t->all;
	bool called;

	pthread_mutex_lock(&all->lock);
	while (!t->called && !all->quit)
		pthread_cond_wait(&all->call, &all->lock);
	called = t->called;
	pthread_mutex_unlock(&all->lock);
	return called;
}

static void *live(void *argument)
{
	struct cputhread *t = argument;

	while (await_call(t)) {
		t->all->task(t->all->argument, t->index);
		finish(t);
	}
	return NULL;
}

/* Pins the thread. This is a task, since likwid-pin pins new threads after pthread_create(). */
static void take_place(void *argument, unsigned thread)
{
	struct cputhread *t = &((struct cputhreads *)argument)->thread[thread];

	t->error = cpuset_set_one(t->cpu) ? errno : 0;
}

/* Creates the threads with all signals blocked: the team and the main thread handle them. */
static int start_all(struct cputhreads *all, const int *cpu, unsigned n)
{
	sigset_t every, before;
	int error = 0;

	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &before);
	while (all->threads < n && !error) {
		struct cputhread *t = &all->thread[all->threads];

		*t = (struct cputhread){ .all = all,
					 .index = all->threads,
					 .cpu = cpu[all->threads] };
		error = pthread_create(&t->thread, NULL, live, t);
		all->threads += !error;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

struct cputhreads *cputhreads_open(const int *cpu, unsigned n, int *culprit)
{
	struct cputhreads *all = calloc(1, sizeof(*all));
	int error = ENOMEM;

	*culprit = -1;
	if (!all)
		return NULL;
	pthread_mutex_init(&all->lock, NULL);
	pthread_cond_init(&all->call, NULL);
	pthread_cond_init(&all->finish, NULL);
	all->thread = calloc(n, sizeof(*all->thread));
	if (all->thread)
		error = start_all(all, cpu, n);
	if (!error)
		cputhreads_run(all, NULL, take_place, all);
	for (unsigned i = 0; i < all->threads && !error; i++)
		if ((error = all->thread[i].error))
			*culprit = all->thread[i].cpu;
	if (!error)
		return all;
	cputhreads_close(all);
	errno = error;
	return NULL;
}

void cputhreads_close(struct cputhreads *all)
{
	if (!all)
		return;
	pthread_mutex_lock(&all->lock);
	all->quit = true;
	pthread_cond_broadcast(&all->call);
	pthread_mutex_unlock(&all->lock);
	for (unsigned i = 0; i < all->threads; i++)
		pthread_join(all->thread[i].thread, NULL);
	pthread_cond_destroy(&all->call);
	pthread_cond_destroy(&all->finish);
	pthread_mutex_destroy(&all->lock);
	free(all->thread);
	free(all);
}

void cputhreads_run(struct cputhreads *all, const bool *wanted,
		    void (*task)(void *argument, unsigned thread), void *argument)
{
	pthread_mutex_lock(&all->lock);
	all->task = task;
	all->argument = argument;
	for (unsigned i = 0; i < all->threads; i++) {
		all->thread[i].called = !wanted || wanted[i];
		all->busy += all->thread[i].called;
	}
	pthread_cond_broadcast(&all->call);
	while (all->busy)
		pthread_cond_wait(&all->finish, &all->lock);
	pthread_mutex_unlock(&all->lock);
}
