/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sharing - a second opinion on `locus sharing`: another ping-pong on the same lines, and bare loops of the same instructions.
 *
 *			locus						the other
 *	ping-pong	a word goes from 0 to 1 and back		the word is a number that each side makes the next, by the __sync builtins
 *	operations	kernels in C, in blocks			a loop in assembly, of the instruction, a decrement and a jump
 *	threads		the team, from a barrier			pthreads of its own, one of which waits for the other's first turn
 *	timing		from when both are there until both are done	one side's clock around all of its turns but the first
 *
 * Both run alternately, on the same words and CPUs. Prints the medians of the ratios of pairs of runs with their 95 % interval, and ends with 1 where the
 * two differ by more than they may: 10 % for the ping-pong, 3 % for the operations. For a quiet machine.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/sharing/kernels.h"
#include "beside.h"
#include "machine/affinity.h"
#include "machine/clock.h"
#include "machine/topology.h"

enum { LINES = 16, TURNS = 2000, OPERATIONS = 12 * UPDATE_ADD_BLOCK };

struct comparison {
	const char *name;
	double limit;
	unsigned pairs;
	bool *differ;
};

static double median(double *x, unsigned n)
{
	sort(x, n);
	return quantile(x, n, 0.5);
}

/* --- hand-over --- */

static void play(void *lines, struct worker *w)
{
	exchange_compare_exchange(lines, w->index, TURNS);
}

static double time_ours(struct team *team, struct lines *l)
{
	const struct attendance *a = team_attendance(team, 0), *b = team_attendance(team, 1);

	team_time(team, play, l, 0, 2, 2);
	return (fmax(a->end, b->end) - fmax(a->begin, b->begin)) / (2 * TURNS);
}

struct opponent {
	volatile uint64_t *number;
	pthread_t thread;
	cpu_set_t cpu;
	double seconds;
};

static void *return_ball(void *argument)
{
	struct opponent *o = argument;

	for (uint64_t n = 1; n < 2 * TURNS; n += 2)
		while (!__sync_bool_compare_and_swap(o->number, n, n + 1))
			;
	return NULL;
}

static void *serve_ball(void *argument)
{
	struct opponent *o = argument;
	struct timespec begin, end;

	for (uint64_t n = 0; n < 2 * TURNS; n += 2) {
		while (!__sync_bool_compare_and_swap(o->number, n, n + 1))
			;
		if (n == 2) /* the other is there */
			clock_gettime(CLOCK_MONOTONIC, &begin);
	}
	while (*o->number < 2 * TURNS)
		;
	clock_gettime(CLOCK_MONOTONIC, &end);
	o->seconds = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
	return NULL;
}

static double time_theirs(const int *cpu, struct lines *l)
{
	struct opponent o[2];

	for (unsigned i = 0; i < 2; i++) {
		pthread_attr_t attributes;

		o[i].number = (volatile uint64_t *)&l->line[0].word;
		CPU_ZERO(&o[i].cpu);
		CPU_SET((size_t)cpu[i], &o[i].cpu);
		pthread_attr_init(&attributes);
		pthread_attr_setaffinity_np(&attributes, sizeof(o[i].cpu), &o[i].cpu);
		if (pthread_create(&o[i].thread, &attributes, i ? return_ball : serve_ball, &o[i]))
			exit(2);
		pthread_attr_destroy(&attributes);
	}
	for (unsigned i = 0; i < 2; i++)
		pthread_join(o[i].thread, NULL);
	*o[0].number = 0;
	return o[0].seconds / (2 * TURNS - 3);
}

static void compare_handover(struct team *team, const int *cpu, struct comparison c)
{
	struct lines *lines = aligned_alloc(APART, LINES * sizeof(*lines));
	double ours[c.pairs], theirs[c.pairs], one[LINES], other[LINES];

	if (!lines)
		exit(2);
	memset(lines, 0, LINES * sizeof(*lines));
	for (unsigned i = 0; i < c.pairs; i++) {
		for (unsigned j = 0; j < LINES; j++) {
			one[j] = time_ours(team, &lines[j]);
			other[j] = time_theirs(cpu, &lines[j]);
		}
		ours[i] = median(one, LINES);
		theirs[i] = median(other, LINES);
	}
	print_beside(c.name, ours, theirs, c.pairs, c.limit, c.differ);
	free(lines);
}

/* --- operations that nobody contends for --- */

#if defined(__x86_64__)
static void bare_add(uint64_t *word, uint64_t n)
{
	uint64_t value;

	__asm__ volatile("1: mov (%2), %0\n\tadd $1, %0\n\tmov %0, (%2)\n\tsub $1, %1\n\tjnz 1b" : "=&r"(value), "+r"(n) : "r"(word) : "memory", "cc");
}

static void bare_fetch_add(uint64_t *word, uint64_t n)
{
	uint64_t value;

	__asm__ volatile("1: mov $1, %0\n\tlock xadd %0, (%2)\n\tsub $1, %1\n\tjnz 1b" : "=&r"(value), "+r"(n) : "r"(word) : "memory", "cc");
}

static void bare_compare_exchange(uint64_t *word, uint64_t n)
{
	uint64_t next;

	__asm__ volatile("1: mov (%2), %%rax\n\tlea 1(%%rax), %0\n\tlock cmpxchg %0, (%2)\n\tsub $1, %1\n\tjnz 1b"
			 : "=&r"(next), "+r"(n)
			 : "r"(word)
			 : "rax", "memory", "cc");
}
#elif defined(__aarch64__)
static void bare_add(uint64_t *word, uint64_t n)
{
	uint64_t value;

	__asm__ volatile("1: ldr %0, [%2]\n\tadd %0, %0, 1\n\tstr %0, [%2]\n\tsubs %1, %1, 1\n\tb.ne 1b" : "=&r"(value), "+r"(n) : "r"(word) : "memory", "cc");
}

static void bare_fetch_add(uint64_t *word, uint64_t n)
{
	for (; n; n--)
		__atomic_fetch_add(word, 1, __ATOMIC_RELAXED);
}

static void bare_compare_exchange(uint64_t *word, uint64_t n)
{
	for (; n; n--) {
		uint64_t value = *(volatile uint64_t *)word;

		__atomic_compare_exchange_n(word, &value, value + 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
}
#endif

static void bare_mutex(uint64_t *word, uint64_t n)
{
	struct guarded_by_mutex *g = (struct guarded_by_mutex *)word;

	do {
		pthread_mutex_lock(&g->lock);
		++*(volatile uint64_t *)&g->word;
		pthread_mutex_unlock(&g->lock);
	} while (--n);
}

static const struct {
	const char *name;
	update *run;
	unsigned block;
	void (*bare)(uint64_t *, uint64_t);
} operations[] = {
	{ "add", update_add, UPDATE_ADD_BLOCK, bare_add },
	{ "fetch-add", update_fetch_add, UPDATE_BLOCK, bare_fetch_add },
	{ "compare-exchange", update_compare_exchange, UPDATE_BLOCK, bare_compare_exchange },
	{ "lock mutex", update_mutex, UPDATE_BLOCK, bare_mutex },
};

static void compare_operation(unsigned which, struct comparison c)
{
	enum { SAMPLES = 15 };
	static _Alignas(4096) struct guarded_by_mutex place;
	struct mcs_node own;
	double ours[c.pairs], theirs[c.pairs], one[SAMPLES], other[SAMPLES], begin;

	memset(&place, 0, sizeof(place));
	for (unsigned i = 0; i < c.pairs; i++) {
		for (unsigned j = 0; j < SAMPLES; j++) {
			/* Each comes to its pace first: a core that renames memory has to learn which store a load is fed from. */
			for (unsigned turn = 0; turn < 2; turn++) {
				begin = cpu_now();
				for (unsigned n = 0; n < OPERATIONS; n += operations[which].block)
					operations[which].run(&place, &own, operations[which].block);
				one[j] = (cpu_now() - begin) / OPERATIONS;
			}
			for (unsigned turn = 0; turn < 2; turn++) {
				begin = cpu_now();
				operations[which].bare((uint64_t *)&place, OPERATIONS);
				other[j] = (cpu_now() - begin) / OPERATIONS;
			}
		}
		ours[i] = median(one, SAMPLES);
		theirs[i] = median(other, SAMPLES);
	}
	print_beside(c.name, ours, theirs, c.pairs, c.limit, c.differ);
}

struct run {
	const struct machine *machine;
	unsigned pairs;
	bool differ;
};

static int compare(struct team *team, void *argument)
{
	struct run *r = argument;
	struct place place[2];
	const char *why;
	unsigned culprit;

	if (machine_bind(r->machine, "close", 2, false, place, &why) || team_seat(team, place, 2, &culprit)) {
		fprintf(stderr, "sharing: two CPUs are needed\n");
		return 2;
	}
	printf("Operations and hand-over of locus against others on the same words, %u alternating pairs, CPUs %d and %d\n", r->pairs, place[0].cpu, place[1].cpu);
	printf("%-26s  %11s  %11s  %6s  95 %% interval\n", "what", "locus", "other", "ratio");
	for (unsigned i = 0; i < sizeof(operations) / sizeof(*operations); i++)
		compare_operation(i, (struct comparison){ operations[i].name, 0.03, r->pairs, &r->differ });
	compare_handover(team, (int[]){ place[0].cpu, place[1].cpu }, (struct comparison){ "hand-over", 0.10, r->pairs, &r->differ });
	return r->differ;
}

int main(int argc, char **argv)
{
	const char *error = "the CPUs that we may use could not be found out";
	struct run r = { .pairs = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 15 };
	struct affinity affinity;
	struct machine *m = affinity_inherit(&affinity) ? NULL : machine_open(NULL, &error);
	int status;

	if (!m || r.pairs < LEAST_VALUES || r.pairs > 1000) {
		fprintf(stderr, "sharing: %s\n", m ? "usage: sharing [PAIRS], from 6 to 1000" : error);
		return 2;
	}
	r.machine = m;
	status = team_open(2, compare, &r);
	machine_close(m);
	affinity_free(&affinity);
	return status < 0 ? 2 : status;
}
