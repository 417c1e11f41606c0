/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of a test, on some of its CPUs. */
#ifndef LOCUS_TEST_TASKS_H
#define LOCUS_TEST_TASKS_H

#include <pthread.h>
#include <sched.h>

#include "bounded.h"
#include "kit/locks.h"

/* The CPUs that this process may use; run_on() restricts it to some of them. */
static cpu_set_t all_cpus;

static inline void run_on(unsigned cpus)
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

static inline int remember_cpus(void **state)
{
	(void)state;
	return sched_getaffinity(0, sizeof(all_cpus), &all_cpus);
}

/* Threads inherit the CPUs of their creator, so each test must leave all of them allowed. */
static inline int end_on_all(void **state)
{
	return end_bounded(state) || sched_setaffinity(0, sizeof(all_cpus), &all_cpus);
}

struct task {
	pthread_t thread;
	unsigned index;
	void *about;
	struct mcs_node node;
};

static inline struct task *begin_tasks(unsigned n, void *(*run)(void *), void *about)
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

static inline void end_tasks(struct task *tasks, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		pthread_join(tasks[i].thread, NULL);
	free(tasks);
}

#endif
