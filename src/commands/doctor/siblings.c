/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cores that are shared unseen: finds CPUs of one core that the topology takes for two, by the time
 * a line needs between them; and work of others on this core, by the core's width.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "base/apart.h"
#include "commands/doctor/doctor.h"
#include "harness/sample/evidence.h"
#include "machine/clock.h"
#include "machine/threads/affinity.h"
#include "machine/topology/topology.h"

/*
 * Time limits, s: for one pair, whose threads may have to wait for their CPUs, and for all pairs.
 */
#define FOR_PAIR 0.02
#define FOR_ALL	 0.5

enum { THROWS = 64, SPINS = 5000 };

/* A ping-pong: the ball has an even number while the server has it. */
struct game {
	_Alignas(APART) _Atomic uint64_t ball;
	_Alignas(APART) int cpu[2];
	double until, least;
};

/* Waits until the ball has this number, without a pause, which would be timed. False: too late. */
static bool caught(struct game *g, uint64_t number)
{
	for (unsigned turn = 1; atomic_load_explicit(&g->ball, memory_order_acquire) != number;
	     turn++) {
		if (turn % SPINS)
			continue;
		if (clock_now() > g->until)
			return false;
		sched_yield();
	}
	return true;
}

static void *answer(void *argument)
{
	struct game *g = argument;

	if (cpuset_set_one(g->cpu[1]))
		return NULL;
	for (uint64_t number = 1; caught(g, number); number += 2)
		atomic_store_explicit(&g->ball, number + 1, memory_order_release);
	return NULL;
}

static void *serve(void *argument)
{
	struct game *g = argument;
	uint64_t number = 0;
	double begin;

	if (cpuset_set_one(g->cpu[0]))
		return NULL;
	while ((begin = clock_now()) < g->until) {
		double took;

		for (unsigned i = 0; i < THROWS; i++, number += 2) {
			atomic_store_explicit(&g->ball, number + 1, memory_order_release);
			if (!caught(g, number + 2))
				return NULL;
		}
		took = (clock_now() - begin) / (2 * THROWS);
		if (!(g->least > 0) || took < g->least)
			g->least = took;
	}
	return NULL;
}

double siblings_exchange(int cpu, int other, double seconds)
{
	struct game g = { .cpu = { cpu, other }, .until = clock_now() + seconds };
	pthread_t one, two;

	if (pthread_create(&one, NULL, serve, &g))
		return 0;
	if (!pthread_create(&two, NULL, answer, &g))
		pthread_join(two, NULL);
	pthread_join(one, NULL);
	return g.least;
}

void siblings_report(const struct siblings *pair, unsigned pairs, struct finding *f)
{
	unsigned met = 0, hidden = 0;
	double least = 0;

	for (unsigned i = 0; i < pairs; i++) {
		const double took = pair[i].took;

		if (!(took > 0))
			continue;
		met++;
		least = !(least > 0) || took < least ? took : least;
		if (took < SIBLINGS_BELOW && !hidden++)
			finding_set(f, FINDING_WRONG,
				    "CPUs %d and %d share a core: a line goes "
				    "from one to the other in %.1f ns",
				    pair[i].cpu[0], pair[i].cpu[1], 1e9 * took);
	}
	if (hidden > 1)
		finding_add(f, "; so do %u pairs more", hidden - 1);
	else if (!hidden && met)
		finding_set(f, FINDING_GOOD, "none: a line takes %.0f ns or more between cores",
			    1e9 * least);
	else if (!hidden)
		finding_set(f, FINDING_UNKNOWN,
			    pairs ? "no two CPUs were free at once" : "there is one core");
}

/* While there is time, tries CPUs with consecutive numbers, since hosts number siblings so. */
void check_siblings(const struct patient *p, struct finding *f)
{
	const struct machine *m = p->machine;
	const double until = clock_now() + FOR_ALL;
	struct siblings *pair = calloc(m->cpus + 1, sizeof(*pair));
	unsigned pairs = 0;

	for (unsigned i = 0; pair && i + 1 < m->cpus && clock_now() < until; i++) {
		const struct cpu *a = &m->cpu[i], *b = &m->cpu[i + 1];

		if (a->core != b->core)
			pair[pairs++] = (struct siblings){
				{ a->number, b->number },
				siblings_exchange(a->number, b->number, FOR_PAIR),
			};
	}
	siblings_report(pair, pairs, f);
	free(pair);
}

/* --- others on this core --- */

enum { LOOKS = 200, LINKS = 2048 };
#define BETWEEN 500000 /* ns from look to look: other guests stay for milliseconds */

/* An interrupt within a look may make the core seem wider than it is, but not in two in a row. */
static double widest(const double *width, unsigned looks)
{
	double most = 0;

	for (unsigned i = 1; i < looks; i++)
		most = fmax(most, fmin(width[i - 1], width[i]));
	return most;
}

void crowd_report(const double *width, unsigned looks, struct finding *f)
{
	const double all = widest(width, looks);
	double narrow = 0;
	unsigned crowded = 0;

	for (unsigned i = 0; i < looks; i++)
		if (width[i] < NOISE_CROWDED * all) {
			crowded++;
			narrow += width[i];
		}
	if (!(all > 0))
		finding_set(f, FINDING_UNKNOWN, "its width can't be measured on this architecture");
	else if (crowded > CROWD_SHARE * looks)
		finding_set(
			f, FINDING_WRONG,
			"others worked on it in %u of %u looks: %.1f instead of %.1f operations "
			"a cycle",
			crowded, looks, narrow / crowded, all);
	else
		finding_set(f, FINDING_GOOD,
			    "not shared in %u of %u looks: %.1f operations a cycle",
			    looks - crowded, looks, all);
}

void check_crowd(const struct patient *p, struct finding *f)
{
	const struct timespec pause = { .tv_nsec = BETWEEN };
	double width[LOOKS];

	(void)p;
	for (unsigned i = 0; i < LOOKS; i++) {
		nanosleep(&pause, NULL);
		width[i] = clock_width(LINKS);
	}
	crowd_report(width, LOOKS, f);
}
