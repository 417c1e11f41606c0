/* SPDX-License-Identifier: Apache-2.0 */
/*
 * barriers - a second opinion on `locus barriers`: other loops on the same lines, in turn with the
 * kernels.
 *
 *			locus				the other
 *	central		compares with number x threads	whoever makes a multiple is the last
 *	leaving		stores the number		adds one
 *	tree		loops over children		straight code for two threads
 *	dissemination	loops over rounds		straight code for two threads
 *	waiting		until the number is reached	while the difference is < 0
 *	verified	-				words hold as many barriers as were passed
 *
 * Both threads pass barriers with nothing between. What that takes depends on when a thread writes
 * and when it looks: a look that comes too soon takes the line away from the thread that is about
 * to write it, and the next one comes a pause later. So the other program does both 0 to 75 cycles
 * later, and its times are a range. Prints the medians, and ends with 1 where locus is more than
 * 5 % out of that range. For a quiet machine; 77 on one with
 * one core.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/barriers/kinds.h"
#include "duet.h"
#include "kit/spin.h"
#include "machine/memory/arena.h"
#include "machine/memory/region.h"
#include "machine/topology/topology.h"

enum { THREADS = 2, BARRIERS = 1024, BLOCKS = 10, LAGS = 16, LAG = 5 /* cycles */ };
#define LIMIT 0.05

typedef void other(struct post *first, struct post *second, unsigned me, uint64_t from, uint64_t n,
		   unsigned lag);

static const struct kinds {
	const char *name;
	const struct kind *ours;
	other *theirs;
} kinds[];

struct meeting {
	struct duet duet;
	struct barrier barrier;
	struct visitor visitor[THREADS];
	const struct kinds *kind;
	unsigned lag;
};

#define OTHER(NAME)                                                                         \
	static __attribute__((noinline)) void NAME(struct post *first, struct post *second, \
						   unsigned me, uint64_t from, uint64_t n,  \
						   unsigned lag)

static inline void wait_for(unsigned cycles)
{
	while (cycles--)
		__asm__ volatile("" : "+r"(cycles));
}

static inline void tell(_Atomic uint64_t *word, uint64_t n, unsigned lag)
{
	wait_for(lag);
	__atomic_store_n((uint64_t *)word, n, __ATOMIC_RELEASE);
}

/* Until the word is n, or more: in dissemination one thread may be a barrier ahead. */
static inline void look(_Atomic uint64_t *word, uint64_t n, unsigned lag)
{
	wait_for(lag);
	while ((int64_t)(__atomic_load_n((uint64_t *)word, __ATOMIC_ACQUIRE) - n) < 0)
		rest();
}

OTHER(other_central)
{
	(void)second, (void)me;
	while (n--) {
		const uint64_t number = ++from;

		if (__atomic_add_fetch((uint64_t *)&first->arrivals, 1, __ATOMIC_ACQ_REL) %
			    THREADS ==
		    0)
			tell(&first->leave, number, lag);
		else
			look(&first->leave, number, lag);
	}
}

OTHER(other_tree)
{
	for (; n--; from++)
		if (me) {
			tell(&first->child[0], from + 1, lag);
			look(&second->leave, from + 1, lag);
		} else {
			look(&first->child[0], from + 1, lag);
			tell(&second->leave, from + 1, lag);
		}
}

OTHER(other_dissemination)
{
	_Atomic uint64_t *own = &(me ? second : first)->round[0].arrived,
			 *other = &(me ? first : second)->round[0].arrived;

	for (; n--; from++) {
		tell(other, from + 1, lag);
		look(own, from + 1, lag);
	}
}

static const struct kinds kinds[] = { { "central", &kind_central, other_central },
				      { "tree", &kind_tree, other_tree },
				      { "dissemination", &kind_dissemination,
					other_dissemination } };

static void block(void *about, unsigned thread, unsigned side)
{
	struct meeting *m = about;
	struct visitor *v = &m->visitor[thread];

	if (side == OURS) {
		m->kind->ours->pass(&m->barrier, v, BARRIERS);
		return;
	}
	m->kind->theirs((struct post *)m->barrier.posts,
			(struct post *)(m->barrier.posts + m->barrier.page), thread, v->passed,
			BARRIERS, m->lag);
	v->passed += BARRIERS;
}

/* A word that the kind uses holds the number of the last barrier; one that it does not use, 0. */
static bool holds(const _Atomic uint64_t *word, uint64_t number)
{
	const uint64_t value = atomic_load(word);

	return !value || value == number;
}

static bool is_right(const struct meeting *m)
{
	const uint64_t number = m->visitor[0].passed;
	bool right = m->visitor[1].passed == number;

	for (unsigned i = 0; i < THREADS; i++) {
		const struct post *p =
			(const struct post *)(m->barrier.posts + i * m->barrier.page);

		right = right && holds(&p->leave, number) && holds(&p->child[0], number) &&
			holds(&p->round[0].arrived, number) &&
			holds(&p->arrivals, THREADS * number);
	}
	return right;
}

/* Medians, in s: ours over all lags, the other's of each lag. */
struct medians {
	double ours, theirs[LAGS];
};

static struct medians take(struct meeting *m, unsigned pairs)
{
	struct medians found;
	double ours[LAGS * pairs], theirs[pairs];

	duet_begin(&m->duet);
	for (unsigned i = 0; i < LAGS; i++) {
		m->lag = i * LAG;
		duet_pairs(&m->duet, ours + i * pairs, theirs, pairs, BARRIERS);
		statistics_sort(theirs, pairs);
		found.theirs[i] = statistics_quantile(theirs, pairs, 0.5);
	}
	duet_end(&m->duet);
	statistics_sort(ours, LAGS * pairs);
	found.ours = statistics_quantile(ours, LAGS * pairs, 0.5);
	return found;
}

static bool say(const char *name, const struct medians *of)
{
	double least = INFINITY, most = 0;
	bool within;

	for (unsigned i = 0; i < LAGS; i++) {
		least = fmin(least, of->theirs[i]);
		most = fmax(most, of->theirs[i]);
	}
	within = of->ours >= (1 - LIMIT) * least && of->ours <= (1 + LIMIT) * most;
	printf("%-14s %6.1f ns, the other %6.1f to %6.1f ns (", name, 1e9 * of->ours, 1e9 * least,
	       1e9 * most);
	for (unsigned i = 0; i < LAGS; i++)
		printf("%s%.0f", i ? " " : "", 1e9 * of->theirs[i]);
	printf("): %s\n", within ? "within" : "out of its range");
	fflush(stdout);
	return within;
}

static bool compare(const struct machine *machine, const struct cpu *const cpus[DUET_MOST],
		    const struct kinds *kind, unsigned pairs)
{
	static struct meeting m;
	struct arena *arena = arena_open(machine);
	struct region *posts =
		arena ? region_map(arena, "posts", THREADS * machine->page, PAGES_BASE) : NULL;
	struct medians found;

	if (!posts) {
		fprintf(stderr, "barriers: no memory\n");
		exit(2);
	}
	m = (struct meeting){ .kind = kind };
	m.duet = (struct duet){ block, &m, THREADS, { cpus[0]->number, cpus[1]->number }, BLOCKS };
	m.barrier = (struct barrier){ .threads = THREADS,
				      .spins = LOCK_SPINS,
				      .posts = region_base(posts),
				      .page = machine->page };
	m.visitor[1].index = 1;
	found = take(&m, pairs);
	if (!is_right(&m)) {
		fprintf(stderr, "barriers: %s: the threads have not passed the same barriers\n",
			kind->name);
		exit(2);
	}
	arena_close(arena);
	return say(kind->name, &found);
}

int main(int argc, char **argv)
{
	struct beside_program program;
	const struct cpu *cpus[DUET_MOST];
	bool good = true;

	if (!beside_begin(&program, argc, argv, "barriers",
			  "usage: barriers [PAIRS], from 6 to 1000"))
		return 2;
	if (duet_cpus(program.machine, cpus) < THREADS) {
		fprintf(stderr, "barriers: one core: nobody is there to meet\n");
		return 77;
	}
	beside_stay_on(cpus[0]->number);
	printf("Barriers of locus against others on the same lines, which wait 0 to %u cycles "
	       "before they write and look; %u alternating pairs each, CPUs %d and %d\n",
	       (LAGS - 1) * LAG, program.pairs, cpus[0]->number, cpus[1]->number);
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		good &= compare(program.machine, cpus, &kinds[i], program.pairs);
	beside_end(&program);
	return !good;
}
