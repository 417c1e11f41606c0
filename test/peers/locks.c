/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locks - a second opinion on `locus locks`: the same locks written apart, on the same memory.
 *
 *			locus					the other
 *	locks		kit/spin.h, kit/locks.h                 the compiler's builtins
 *	waiting		yields after many looks                 never yields
 *	section		counts, notes whose turn was before,    the same, and no clock
 *                      reads a clock now and then
 *	nodes of MCS	in each thread's post                   of its own
 *
 * Both are called in blocks of acquisitions by the same two threads, alternately, so they meet the
 * same lines, CPUs and moments; one thread's clock times both. Prints, for each lock and section,
 * the median of the ratios and its 95 % interval, and ends with 1 where the two differ by more than
 * 5 %. Two threads are compared at locks that serve them in turn: who wins the others is chance.
 * For a quiet machine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/locks/locks.h"
#include "benchmarks.h"
#include "duet.h"
#include "machine/memory/arena.h"
#include "machine/topology/topology.h"

enum { BLOCK = 64 };
#define LIMIT 0.05

/* --- the other locks --- */

struct queue_node {
	_Alignas(256) struct queue_node *next;
	unsigned waits;
};

struct other {
	void *lock;
	uint64_t *guarded;
	uint64_t section, value, me;
	uint64_t after[DUET_MOST]; /* sections, by whose turn was before */
	struct queue_node node;
};

/* The section: the two words of struct guarded, and the work. Returns whose turn was before. */
static inline __attribute__((always_inline)) uint64_t do_section(struct other *o)
{
	uint64_t x, before = o->guarded[1] & 0xffff;

	x = o->value - o->guarded[0];
	o->guarded[1] = ++o->guarded[0] << 16 | o->me;
	for (uint64_t i = 0; i < o->section; i++) {
		x *= 7919;
		__asm__ volatile("" : "+r"(x));
	}
	o->value = x;
	return before;
}

static __attribute__((noinline)) void other_spin(struct other *o, uint64_t n)
{
	uint32_t *held = o->lock;
	uint64_t who;

	while (n--) {
		while (__atomic_exchange_n(held, 1, __ATOMIC_ACQUIRE))
			rest();
		who = do_section(o);
		__atomic_store_n(held, 0, __ATOMIC_RELEASE);
		o->after[who]++;
	}
}

static __attribute__((noinline)) void other_ticket(struct other *o, uint64_t n)
{
	uint32_t *next = o->lock, *serving = next + 1;

	while (n--) {
		const uint32_t mine = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED);
		uint64_t who;

		while (__atomic_load_n(serving, __ATOMIC_ACQUIRE) != mine)
			rest();
		who = do_section(o);
		__atomic_store_n(serving, mine + 1, __ATOMIC_RELEASE);
		o->after[who]++;
	}
}

static __attribute__((noinline)) void other_mcs(struct other *o, uint64_t n)
{
	struct queue_node **tail = o->lock, *me = &o->node, *before, *after, *expected;

	while (n--) {
		__atomic_store_n(&me->next, NULL, __ATOMIC_RELAXED);
		__atomic_store_n(&me->waits, 1, __ATOMIC_RELAXED);
		before = __atomic_exchange_n(tail, me, __ATOMIC_ACQ_REL);
		if (before) {
			__atomic_store_n(&before->next, me, __ATOMIC_RELEASE);
			while (__atomic_load_n(&me->waits, __ATOMIC_ACQUIRE))
				rest();
		}
		o->after[do_section(o)]++;
		expected = me;
		after = __atomic_load_n(&me->next, __ATOMIC_ACQUIRE);
		if (!after && __atomic_compare_exchange_n(tail, &expected, NULL, false,
							  __ATOMIC_RELEASE, __ATOMIC_RELAXED))
			continue;
		while (!(after = __atomic_load_n(&me->next, __ATOMIC_ACQUIRE)))
			rest();
		__atomic_store_n(&after->waits, 0, __ATOMIC_RELEASE);
	}
}

/* --- side by side --- */

struct pair {
	struct duet duet;
	struct trial trial;
	union value value[5];
	struct place place[DUET_MOST];
	struct state *state;
	void (*of_other)(struct other *, uint64_t);
	struct other other[DUET_MOST];
	uint64_t did[DUET_MOST];
};

static void block(void *about, unsigned thread, unsigned side)
{
	struct pair *p = about;

	if (side == OURS)
		p->state->kind->visit(locks_visitor(p->state, thread), BLOCK);
	else
		p->of_other(&p->other[thread], BLOCK);
	p->did[thread] += BLOCK;
}

static const struct both {
	const char *name;
	void (*of_other)(struct other *, uint64_t);
	bool in_turn; /* serves two threads in turn */
} all_locks[] = {
	{ "spin", other_spin, false },
	{ "ticket", other_ticket, true },
	{ "mcs", other_mcs, true },
};

static void take_part(struct pair *p, const struct both *b, uint64_t section)
{
	p->trial.variant = locks_benchmark.variants;
	while (strcmp(p->trial.variant->name, b->name))
		p->trial.variant++;
	p->value[LAYOUT].choice = LAYOUT_APART;
	p->value[LINES].count = 1;
	p->value[SECTION].count = section;
	p->of_other = b->of_other;
	p->trial.arena = arena_open(p->trial.machine);
	p->state = p->trial.arena ? locks_prepare(&p->trial) : NULL;
	if (!p->state) {
		fprintf(stderr, "locks: no memory\n");
		exit(2);
	}
	for (unsigned i = 0; i < p->duet.threads; i++) {
		struct worker w = { .index = i, .threads = p->duet.threads, .place = p->place[i] };
		const struct visitor *v;

		locks_enter(p->state, &w);
		v = locks_visitor(p->state, i);
		p->other[i] = (struct other){ .lock = v->lock,
					      .guarded = (uint64_t *)v->guarded,
					      .section = section,
					      .me = i };
	}
}

static void compare(const struct machine *m, const struct cpu *const cpus[DUET_MOST],
		    unsigned threads, const struct both *b, uint64_t section, unsigned pairs,
		    bool *differ)
{
	/* static: it has lines of its own */
	static struct pair p;
	char what[64];

	memset(&p, 0, sizeof(p));
	p.duet = (struct duet){ block, &p, threads, { cpus[0]->number, cpus[1]->number } };
	p.trial = (struct trial){ .benchmark = &locks_benchmark,
				  .value = p.value,
				  .threads = threads,
				  .place = p.place,
				  .machine = m };
	for (unsigned i = 0; i < threads; i++)
		p.place[i] = (struct place){ cpus[i]->number, cpus[i]->node };
	take_part(&p, b, section);
	snprintf(what, sizeof(what), "%-6s %u thread%s %6llu steps", b->name, threads,
		 threads > 1 ? "s" : " ", (unsigned long long)section);
	duet_compare(&p.duet, what, pairs, BLOCK, LIMIT, differ);
	if (((struct guarded *)p.other[0].guarded)->count != p.did[0] + p.did[1]) {
		fprintf(stderr, "locks: %s did not keep threads apart\n", b->name);
		exit(2);
	}
	locks_release(p.state);
	arena_close(p.trial.arena);
}

int main(int argc, char **argv)
{
	static const uint64_t sections[] = { 100, 1000, 10000 };
	struct beside_program program;
	const struct machine *m;
	unsigned pairs, most;
	const struct cpu *cpus[DUET_MOST];
	const uint64_t asked = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	const unsigned n = argc > 2 ? 1 : sizeof(sections) / sizeof(*sections);
	bool differ = false;

	if (!beside_begin(&program, argc, argv, "locks",
			  "usage: locks [PAIRS [STEPS]], pairs from 6 to 1000"))
		return 2;
	m = program.machine;
	pairs = program.pairs;
	most = duet_cpus(m, cpus);
	beside_stay_on(cpus[0]->number);
	printf("Locks of locus against others on the same memory, %u alternating pairs, CPUs %d "
	       "and %d\n",
	       pairs, cpus[0]->number, cpus[1]->number);
	for (unsigned threads = 1; threads <= most; threads++)
		for (unsigned i = 0; i < sizeof(all_locks) / sizeof(*all_locks); i++)
			for (unsigned k = 0; k < n; k++)
				if (threads == 1 || all_locks[i].in_turn)
					compare(m, cpus, threads, &all_locks[i],
						argc > 2 ? asked : sections[k], pairs, &differ);
	beside_end(&program);
	return differ;
}
