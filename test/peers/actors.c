/* SPDX-License-Identifier: Apache-2.0 */
/*
 * actors - how fast the executors of `locus actors` are beside others that are installed: oneTBB's
 * task_group and enqueue, Taskflow, CAF (executors.cc), and OpenMP's tasks.
 *
 *	actors [PAIRS [ACTORS STATE]]
 *
 * Two threads; a message touches 8 words and goes back to its actor; all ways take turns. First
 * 1000 actors of 64 bytes: millions of messages a second, medians, and the ratios with their 95 %
 * interval; then what is measured by itself (speeds.h); then a table over actors and states. Ends
 * with 1 where `dedicated` or `best` surely is not twice as fast as the fastest of the others, or
 * five times as fast as CAF (goal.h). For a quiet machine. With ACTORS and STATE only that point.
 *
 * At the same fairness: "in a row" is how many messages of an actor a thread handled without
 * another one's between them, on average. A peer that takes what it scheduled last, as TBB's groups
 * do, or runs an actor on while it has messages, as CAF does, keeps a state in L1 and lets the
 * others wait. So ours stand in the table twice: with one in a row beside the peers that have at
 * most two, and with 64 beside all. A ratio that is surely below 0.95 is a LOSS.
 */
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/statistics.h"
#include "bench/actors/bodies.h"
#include "../unit/crew_world.h"
#include "executors.h"
#include "goal.h"
#include "speeds.h"

enum { PAIRS = 9, MOST_PAIRS = 999, THREADS = 2, WAYS = 13, GOALS = 2 };

/* Ours first, then peers. */
static const struct way {
	const char *name;
	const struct executor *executor;
	unsigned batch;
	double (*run)(const struct peers_work *);
	double goal; /* for the speed of dedicated and best over it */
} ways[WAYS] = {
	{ "dedicated", &executor_dedicated, 1, NULL, 0 },
	{ "best", &executor_best, 1, NULL, 0 },
	{ "stealing", &executor_stealing, 1, NULL, 0 },
	{ "shuffled", &executor_shuffled, 1, NULL, 0 },
	{ "pool", &executor_pool, 1, NULL, 0 },
	{ "dedicated 64", &executor_dedicated, 64, NULL, 0 },
	{ "best 64", &executor_best, 64, NULL, 0 },
	{ "stealing 64", &executor_stealing, 64, NULL, 0 },
	{ "OpenMP", &executor_tasks, 1, NULL, 2 },
	{ "TBB group", NULL, 0, peers_task_group, 2 },
	{ "TBB enqueue", NULL, 0, peers_enqueue, 2 },
	{ "Taskflow", NULL, 0, peers_taskflow, 2 },
	{ "CAF", NULL, 0, peers_caf, 5 },
};
enum { ONE = 0, MANY = 5, PEERS = 8 };

/* Results of a point: s of each way by turn, NAN if it is not installed; messages in a row. */
struct point {
	size_t actors, state, messages;
	unsigned pairs;
	double took[WAYS][MOST_PAIRS], row[WAYS];
};

struct course {
	const struct peers_work *work;
	_Atomic uint64_t left;
};

static void body(void *argument, struct crew_hand *h, struct actor *a, struct message *m)
{
	struct course *c = argument;

	peers_note(c->work, a);
	bodies_walk(a->state, c->work->words, c->work->touched, a->ran);
	if (++m->hops < c->work->hops)
		crew_send(h, m, a);
	else if (--c->left == 0)
		crew_stop(h->crew);
}

static double run_threads(struct crew *c)
{
	struct crew_thread thread[THREADS];
	const double began = clock_now();

	crew_threads_begin(c, thread);
	crew_threads_end(c, thread);
	return clock_now() - began;
}

static double run_crew(const struct peers_work *w, const struct executor *executor, unsigned batch)
{
	struct course course = { .work = w, .left = w->actors };
	struct crew crew = { .executor = executor,
			     .threads = w->threads,
			     .actors = w->actors,
			     .body = body,
			     .argument = &course,
			     .batch = batch,
			     .spins = 500 };
	void *memory = apart_alloc(w->threads * crew_bytes(executor, w->threads, w->actors));
	struct actor *actor = apart_alloc(w->actors * sizeof(*actor));
	struct message *message = apart_alloc(w->actors * sizeof(*message));
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

static double run_way(const struct peers_work *w, const struct way *way)
{
	return way->run ? way->run(w) : run_crew(w, way->executor, way->batch);
}

/* False: there is not so much memory. The first turn counts messages in a row, and no time. */
static bool measure(struct point *p)
{
	const size_t ram = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE),
		     bytes = p->actors * p->state;
	const size_t total = bytes > 16 << 20 ? 100000 : 500000;
	struct peers_work w = { .threads = THREADS,
				.actors = p->actors,
				.stride = p->state,
				.words = p->state / sizeof(uint32_t),
				.touched = 8,
				.hops = 1 + total / p->actors,
				.states = bytes > ram / 4 ? NULL : aligned_alloc(64, bytes) };

	if (!w.states)
		return false;
	memset(w.states, 0, bytes);
	p->messages = p->actors * w.hops;
	for (unsigned i = 0; i <= p->pairs; i++)
		for (unsigned k = 0; k < WAYS; k++) {
			uint64_t rows = 0;

			w.rows = i ? NULL : &rows;
			p->took[k][i ? i - 1 : 0] = run_way(&w, &ways[k]);
			if (!i)
				p->row[k] = (double)p->messages / (double)rows;
		}
	free(w.states);
	return true;
}

static double speed(const struct point *p, unsigned way)
{
	double sorted[MOST_PAIRS];

	memcpy(sorted, p->took[way], p->pairs * sizeof(*sorted));
	statistics_sort(sorted, p->pairs);
	return (double)p->messages / statistics_quantile(sorted, p->pairs, 0.5) / 1e6;
}

static bool there(const struct point *p, unsigned way)
{
	return !isnan(p->took[way][0]);
}

struct interval {
	double low, middle, high;
};

/* The speed of ours over that of theirs. */
static struct interval ratio_of(const struct point *p, unsigned ours, unsigned theirs)
{
	double ratio[MOST_PAIRS];
	struct interval r;

	for (unsigned i = 0; i < p->pairs; i++)
		ratio[i] = p->took[theirs][i] / p->took[ours][i];
	statistics_sort(ratio, p->pairs);
	r.middle = statistics_quantile(ratio, p->pairs, 0.5);
	statistics_median_interval(ratio, p->pairs, &r.low, &r.high);
	return r;
}

static void print_speeds(const struct point *p)
{
	printf("\n%zu actors of %zu B, %u turns each, %d threads\n", p->actors, p->state, p->pairs,
	       THREADS);
	for (unsigned k = 0; k < WAYS; k++)
		if (there(p, k))
			printf("  %-13s %8.1f million messages a second, %.3g in a row\n",
			       ways[k].name, speed(p, k), p->row[k]);
}

/* dedicated and best over each of the others. */
static bool reached(const struct point *p)
{
	bool good = true;

	for (unsigned k = 0; k < GOALS; k++)
		for (unsigned other = PEERS; other < WAYS; other++) {
			struct interval r;

			if (!there(p, other))
				continue;
			r = ratio_of(p, k, other);
			good &= !goal_missed(r.low, r.high, ways[other].goal, INFINITY);
			printf("  %-10s over %-12s %6.2f  [%.2f, %.2f]  at least %g: %s\n",
			       ways[k].name, ways[other].name, r.middle, r.low, r.high,
			       ways[other].goal,
			       goal_outcome(r.low, r.high, ways[other].goal, INFINITY));
		}
	return good;
}

/* The fastest peer with at most so many messages in a row; WAYS: none. */
static unsigned fastest(const struct point *p, double row)
{
	unsigned best = WAYS;

	for (unsigned k = PEERS; k < WAYS; k++)
		if (there(p, k) && p->row[k] <= row &&
		    (best == WAYS || speed(p, k) > speed(p, best)))
			best = k;
	return best;
}

static void print_beside_fastest(const struct point *p, unsigned ours, double row)
{
	const unsigned other = fastest(p, row);

	for (unsigned k = ours; other < WAYS && k < ours + GOALS; k++) {
		const struct interval r = ratio_of(p, k, other);

		printf("  %-13s over %-12s (%.3g in a row) %6.2f  [%.2f, %.2f]%s\n", ways[k].name,
		       ways[other].name, p->row[other], r.middle, r.low, r.high,
		       r.high < 0.95 ? "  LOSS" : "");
	}
}

static void print_table(struct point *p)
{
	static const size_t actors[] = { 24, 200, 1000, 8000 },
			    state[] = { 64, 4096, 65536, 1 << 20 };

	for (unsigned i = 0; i < sizeof(actors) / sizeof(*actors); i++)
		for (unsigned j = 0; j < sizeof(state) / sizeof(*state); j++) {
			p->actors = actors[i];
			p->state = state[j];
			if (!measure(p)) {
				printf("\n%zu actors of %zu B: more than a quarter of the memory\n",
				       p->actors, p->state);
				continue;
			}
			print_speeds(p);
			print_beside_fastest(p, ONE, 2);
			print_beside_fastest(p, MANY, INFINITY);
			fflush(stdout);
		}
}

int main(int argc, char **argv)
{
	static struct point p = { .actors = 1000, .state = 64, .pairs = PAIRS };
	bool good;

	if (argc > 1)
		p.pairs = (unsigned)strtoul(argv[1], NULL, 10);
	if (argc > 3) {
		p.actors = strtoul(argv[2], NULL, 10);
		p.state = strtoul(argv[3], NULL, 10) / 64 * 64;
	}
	if (argc == 3 || p.pairs < PAIRS || p.pairs > MOST_PAIRS || !p.actors || !p.state) {
		fprintf(stderr, "usage: actors [PAIRS [ACTORS STATE]], PAIRS from %d on\n", PAIRS);
		return 2;
	}
	if (!measure(&p))
		return 2;
	print_speeds(&p);
	good = reached(&p);
	if (argc > 3) {
		print_beside_fastest(&p, ONE, 2);
		print_beside_fastest(&p, MANY, INFINITY);
		return !good;
	}
	good &= speeds_reached();
	print_table(&p);
	return !good;
}
