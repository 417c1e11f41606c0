/* SPDX-License-Identifier: Apache-2.0 */
/*
 * actors - how fast the executors of `locus actors` are beside others that are installed: oneTBB's
 * task_group and enqueue, Taskflow, CAF (executors.cc), and OpenMP's tasks.
 *
 *	actors [PAIRS [ACTORS [STATE [BATCH]]]]
 *
 * Two threads, 1000 actors with 64 bytes of state, 8 words a message, which goes back to its actor;
 * one message of an actor in a row (BATCH), but where a peer takes what it scheduled last, as TBB's
 * groups do, or runs an actor on while it has messages, as CAF does: to compare with those where
 * states are large, let ours do so, too. All in turn; prints millions of messages a second,
 * medians, and the ratios of the pairs with their 95 % interval. Ends with 1 where `dedicated` or
 * `best` is not surely twice as fast as the fastest of them, or five times as fast as CAF. For a
 * quiet machine.
 */
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/statistics.h"
#include "bench/actors/bodies.h"
#include "bench/actors/crew.h"
#include "executors.h"

enum { PAIRS = 9, MOST_PAIRS = 999, THREADS = 2, OURS = 5, ALL = 10 };

static double run_crew(const struct peers_work *, const struct executor *);

static double run_dedicated(const struct peers_work *w)
{
	return run_crew(w, &executor_dedicated);
}

static double run_best(const struct peers_work *w)
{
	return run_crew(w, &executor_best);
}

static double run_stealing(const struct peers_work *w)
{
	return run_crew(w, &executor_stealing);
}

static double run_shuffled(const struct peers_work *w)
{
	return run_crew(w, &executor_shuffled);
}

static double run_pool(const struct peers_work *w)
{
	return run_crew(w, &executor_pool);
}

static double run_tasks(const struct peers_work *w)
{
	return run_crew(w, &executor_tasks);
}

/* Ours first. */
static const struct {
	const char *name;
	double (*run)(const struct peers_work *);
	double goal; /* of the first two, over this */
} ways[ALL] = {
	{ "dedicated", run_dedicated, 0 },
	{ "best", run_best, 0 },
	{ "stealing", run_stealing, 0 },
	{ "shuffled", run_shuffled, 0 },
	{ "pool", run_pool, 0 },
	{ "OpenMP", run_tasks, 2 },
	{ "TBB group", peers_task_group, 2 },
	{ "TBB enqueue", peers_enqueue, 2 },
	{ "Taskflow", peers_taskflow, 2 },
	{ "CAF", peers_caf, 5 },
};

struct course {
	const struct peers_work *work;
	_Atomic uint64_t left;
};

static void body(void *argument, struct crew_hand *h, struct actor *a, struct message *m)
{
	struct course *c = argument;

	bodies_walk(a->state, c->work->words, c->work->touched, a->ran);
	if (++m->hops < c->work->hops)
		crew_send(h, m, a);
	else if (--c->left == 0)
		crew_stop(h->crew);
}

struct thread {
	pthread_t thread;
	struct crew *crew;
	unsigned me;
};

static void *work(void *argument)
{
	const struct thread *t = argument;

	crew_run(t->crew, t->me);
	return NULL;
}

static double run_threads(struct crew *c)
{
	struct thread thread[THREADS];
	const double began = clock_now();

	for (unsigned i = 0; i < c->threads; i++) {
		thread[i].crew = c;
		thread[i].me = i;
		if (pthread_create(&thread[i].thread, NULL, work, &thread[i]))
			abort();
	}
	for (unsigned i = 0; i < c->threads; i++)
		pthread_join(thread[i].thread, NULL);
	return clock_now() - began;
}

static double run_crew(const struct peers_work *w, const struct executor *executor)
{
	struct course course = { .work = w, .left = w->actors };
	struct crew crew = { .executor = executor,
			     .threads = w->threads,
			     .actors = w->actors,
			     .body = body,
			     .argument = &course,
			     .batch = w->batch,
			     .spins = 500 };
	void *memory = apart_alloc(w->threads * crew_bytes(executor, w->threads, w->actors));
	struct actor *actor = apart_alloc(w->actors * sizeof(*actor));
	struct message *message = calloc(w->actors, sizeof(*message));
	double took = NAN;

	if (!memory || !actor || !message)
		abort();
	crew_open(&crew, memory, 1);
	for (size_t i = 0; i < w->actors; i++) {
		actor[i].state = w->states + i * w->stride;
		actor[i].home = actor[i].on = (unsigned)(i * w->threads / w->actors);
		crew_seed(&crew, actor[i].home, &message[i], &actor[i]);
	}
	took = run_threads(&crew);
	crew_close(&crew);
	free(memory);
	free(actor);
	free(message);
	return took;
}

static double median(const double *values, unsigned n)
{
	double sorted[MOST_PAIRS];

	memcpy(sorted, values, n * sizeof(*values));
	statistics_sort(sorted, n);
	return statistics_quantile(sorted, n, 0.5);
}

/* Times of the one over those of the other; whether it is surely at least `goal`. */
static bool tell(const char *ours, const double *fast, const char *theirs, const double *slow,
		 unsigned pairs, double goal)
{
	double ratio[MOST_PAIRS], low = NAN, high = NAN;

	for (unsigned i = 0; i < pairs; i++)
		ratio[i] = slow[i] / fast[i];
	statistics_sort(ratio, pairs);
	statistics_median_interval(ratio, pairs, &low, &high);
	printf("%-10s over %-12s %6.2f  [%.2f, %.2f]  at least %g: %s\n", ours, theirs,
	       statistics_quantile(ratio, pairs, 0.5), low, high, goal, low >= goal ? "yes" : "NO");
	return low >= goal;
}

int main(int argc, char **argv)
{
	static double took[ALL][MOST_PAIRS];
	const unsigned pairs = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : PAIRS;
	struct peers_work w = {
		.threads = THREADS, .actors = 1000, .stride = 64, .touched = 8, .batch = 1
	};
	bool good = true;

	if (argc > 2)
		w.actors = strtoul(argv[2], NULL, 10);
	if (argc > 3)
		w.stride = strtoul(argv[3], NULL, 10) / 64 * 64;
	if (argc > 4)
		w.batch = (unsigned)strtoul(argv[4], NULL, 10);
	if (pairs < PAIRS || pairs > MOST_PAIRS || !w.actors || !w.stride || !w.batch) {
		fprintf(stderr,
			"usage: actors [PAIRS [ACTORS [STATE [BATCH]]]], PAIRS from %d on\n",
			PAIRS);
		return 2;
	}
	w.words = w.stride / sizeof(uint32_t);
	w.hops = 1 + 500000 / w.actors;
	w.states = aligned_alloc(64, w.actors * w.stride);
	if (!w.states)
		return 2;
	memset(w.states, 0, w.actors * w.stride);
	/* the first turn, of all, is not kept */
	for (unsigned i = 0; i <= pairs; i++)
		for (unsigned k = 0; k < ALL; k++)
			took[k][i ? i - 1 : 0] = ways[k].run(&w);
	printf("%u turns each, %d threads, %zu actors of %zu B, %u in a row\n", pairs, THREADS,
	       w.actors, w.stride, w.batch);
	for (unsigned k = 0; k < ALL; k++)
		if (!isnan(took[k][0]))
			printf("%-12s %8.1f million messages a second\n", ways[k].name,
			       (double)(w.actors * w.hops) / median(took[k], pairs) / 1e6);
	for (unsigned k = 0; k < 2; k++)
		for (unsigned other = OURS; other < ALL; other++)
			if (!isnan(took[other][0]))
				good &= tell(ways[k].name, took[k], ways[other].name, took[other],
					     pairs, ways[other].goal);
	free(w.states);
	return !good;
}
