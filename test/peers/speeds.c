/* SPDX-License-Identifier: Apache-2.0 */
#include "speeds.h"

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../unit/crew_world.h"
#include "base/statistics.h"

enum { ACTORS = 4, THREADS = 2, RUNS = 9, WAKES = 201, MESSAGES = 1000000 };

static const struct {
	const char *name;
	const struct executor *executor;
	double empty; /* ns, at most; 0: no goal */
} of[] = {
	{ "dedicated", &executor_dedicated, 15 },
	{ "best", &executor_best, 30 },
	{ "stealing", &executor_stealing, 40 },
	{ "pool", &executor_pool, 0 },
};

struct world {
	struct crew_world of;
	struct message message[ACTORS];
	uint64_t left;
	_Atomic uint64_t handled;
	double at; /* s: when the last one was handled */
};

static void open_world(struct world *w, const struct executor *executor, unsigned threads,
		       void (*body)(void *, struct crew_hand *, struct actor *, struct message *))
{
	*w = (struct world){ .of.crew = { .executor = executor,
					  .threads = threads,
					  .actors = ACTORS,
					  .body = body,
					  .argument = w,
					  .batch = 1,
					  .spins = 500 } };
	crew_world_open(&w->of);
}

static double clock_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void send_on(void *argument, struct crew_hand *h, struct actor *a, struct message *m)
{
	struct world *w = argument;

	if (--w->left)
		crew_send(h, m, a);
	else
		crew_stop(h->crew);
}

/* ns of CPU time, the least of some runs. */
static double empty_message(const struct executor *executor)
{
	double least = INFINITY;

	for (unsigned run = 0; run < RUNS; run++) {
		struct world w;
		double began, took;

		open_world(&w, executor, 1, send_on);
		w.left = MESSAGES;
		for (unsigned i = 0; i < ACTORS; i++)
			crew_seed(&w.of.crew, 0, &w.message[i], &w.of.actor[i]);
		began = clock_of(CLOCK_THREAD_CPUTIME_ID);
		crew_run(&w.of.crew, 0);
		took = clock_of(CLOCK_THREAD_CPUTIME_ID) - began;
		least = took < least ? took : least;
		crew_world_close(&w.of);
	}
	return least / MESSAGES * 1e9;
}

static void note_when(void *argument, struct crew_hand *h, struct actor *a, struct message *m)
{
	struct world *w = argument;

	(void)h, (void)a, (void)m;
	w->at = clock_now();
	w->handled++;
}

static void sleep_for(double s)
{
	const struct timespec t = { (time_t)s, (long)(fmod(s, 1) * 1e9) };

	nanosleep(&t, NULL);
}

/* Median time (s) from wake() until the woken thread has noted the time. */
static double wake_time(struct world *w, void (*wake)(struct world *, unsigned))
{
	double took[WAKES];

	for (unsigned i = 0; i < WAKES; i++) {
		const uint64_t before = w->handled;
		double began;

		sleep_for(2e-3);
		began = clock_now();
		wake(w, i);
		for (unsigned turn = 0; w->handled == before; turn++)
			relax(turn, 100000);
		took[i] = w->at - began;
	}
	statistics_sort(took, WAKES);
	return statistics_quantile(took, WAKES, 0.5);
}

static struct parking bare;

static void *sleeper(void *argument)
{
	struct world *w = argument;

	for (unsigned i = 0; i < WAKES; i++) {
		park(&bare);
		w->at = clock_now();
		w->handled++;
	}
	return NULL;
}

static void wake_bare(struct world *w, unsigned turn)
{
	(void)w, (void)turn;
	unpark(&bare);
}

static void send_one(struct world *w, unsigned turn)
{
	crew_send_in(&w->of.crew, &w->message[turn % ACTORS], &w->of.actor[turn % ACTORS], 0);
}

static double bare_wake_time(void)
{
	struct world w = { .handled = 0 };
	pthread_t thread;
	double took;

	if (pthread_create(&thread, NULL, sleeper, &w))
		abort();
	took = wake_time(&w, wake_bare);
	pthread_join(thread, NULL);
	return took;
}

/* s until the first message is handled. *idle: CPU time of all threads, as a share of one CPU. */
static double first_message(const struct executor *executor, double *idle)
{
	enum { SECONDS = 10 };
	struct crew_thread thread[THREADS];
	struct world w;
	double took;

	open_world(&w, executor, THREADS, note_when);
	crew_threads_begin(&w.of.crew, thread);
	took = wake_time(&w, send_one);
	sleep_for(0.01);
	*idle = clock_of(CLOCK_PROCESS_CPUTIME_ID);
	sleep_for(SECONDS);
	*idle = (clock_of(CLOCK_PROCESS_CPUTIME_ID) - *idle) / SECONDS;
	crew_stop(&w.of.crew);
	crew_threads_end(&w.of.crew, thread);
	crew_world_close(&w.of);
	return took;
}

static const char *word(bool good)
{
	return good ? "yes" : "NO";
}

bool speeds_reached(void)
{
	bool all = true;

	printf("\nby themselves\n");
	for (unsigned k = 0; k < sizeof(of) / sizeof(*of); k++) {
		const double empty = empty_message(of[k].executor), bare_s = bare_wake_time();
		double idle, first = first_message(of[k].executor, &idle);
		const bool good = !of[k].empty || empty <= of[k].empty;

		printf("  %-10s an empty message %5.1f ns", of[k].name, empty);
		if (of[k].empty)
			printf(", at most %g: %s", of[k].empty, word(good));
		printf("\n%13sidle for 10 s %.4f %% of a CPU, below 1: %s\n", "", 100 * idle,
		       word(idle < 0.01));
		printf("%13sfirst message after %.1f us, at most 3 times %.1f: %s\n", "",
		       1e6 * first, 1e6 * bare_s, word(first <= 3 * bare_s));
		all &= good && idle < 0.01 && first <= 3 * bare_s;
	}
	return all;
}
