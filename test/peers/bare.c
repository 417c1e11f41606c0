/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bare - what test/peers/sharing holds against `locus sharing`: the same operations without a
 * harness, and another ping-pong.
 *
 *	bare CPU [CPU]		s of each operation on the first CPU, uncontended; with a second
 *                              one, of a transfer of a line between the two:
 *				the first decile of samples, the first quartile of lines
 *
 * Nothing of locus is in it. Operations are loops in assembly, of the instructions, a decrement and
 * a jump; on other processors than x86-64 they are loops of the compiler's builtins. In the
 * ping-pong the two sides take turns to increment a number, by the __sync builtins; the clock of
 * one side times all of its turns but the first.
 */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SAMPLE 2e-3 /* s, at least */
enum { SAMPLES = 33, OPERATIONS = 1 << 16, LINES = 17, TURNS = 2000, PAGE = 1 << 16 };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Disturbances only add time, so a low quantile counts: 1 / share. */
static double undisturbed(double *x, unsigned n, unsigned share)
{
	qsort(x, n, sizeof(*x), by_value);
	return x[n / share];
}

static void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		perror("bare: sched_setaffinity");
		exit(2);
	}
}

/* ---- operations ---- */

/* A lock, if any, and the word that it guards; MCS wants a node as well. */
struct place {
	union {
		uint64_t word[2]; /* a lock of 8 bytes guards the second one */
		struct {
			pthread_mutex_t mutex;
			uint64_t guarded;
		};
	};
	_Alignas(256) uint64_t node[2];
};

#ifdef __x86_64__
#define HOW "assembly"
/* Runs BODY n times. It may use %rax and %rdx; %0 is the place, %2 its node. */
#define LOOP(BODY)                                                \
	__asm__ volatile("1:\n\t" BODY "\n\tsub $1, %1\n\tjnz 1b" \
			 : "+r"(p), "+r"(n)                       \
			 : "r"(p->node)                           \
			 : "rax", "rdx", "memory", "cc")
static void add(struct place *p, uint64_t n)
{
	LOOP("mov (%0), %%rax\n\tadd $1, %%rax\n\tmov %%rax, (%0)");
}

static void fetch_add(struct place *p, uint64_t n)
{
	LOOP("mov $1, %%eax\n\tlock xadd %%rax, (%0)");
}

static void compare_exchange(struct place *p, uint64_t n)
{
	LOOP("mov (%0), %%rax\n2:\tlea 1(%%rax), %%rdx\n\tlock cmpxchg %%rdx, (%0)\n\tjne 2b");
}

static void spin(struct place *p, uint64_t n)
{
	LOOP("mov $1, %%eax\n\txchg %%eax, (%0)\n\ttest %%eax, %%eax\n\tjne 1b\n\taddq $1, "
	     "8(%0)\n\tmovl $0, (%0)");
}

static void ticket(struct place *p, uint64_t n)
{
	LOOP("mov $1, %%eax\n\tlock xadd %%eax, (%0)\n2:\tmov 4(%0), %%edx\n\tcmp %%edx, "
	     "%%eax\n\tjne 2b\n\taddq $1, 8(%0)\n\taddl $1, 4(%0)");
}

static void mcs(struct place *p, uint64_t n)
{
	LOOP("movq $0, (%2)\n\tmovb $1, 8(%2)\n\tmov %2, %%rdx\n\txchg %%rdx, (%0)\n\ttest %%rdx, "
	     "%%rdx\n\tjne 3f\n\taddq $1, 8(%0)\n"
	     "\tcmpq $0, (%2)\n\tjne 3f\n\txor %%edx, %%edx\n\tmov %2, %%rax\n\tlock cmpxchg "
	     "%%rdx, (%0)\n\tje 4f\n3:\tud2\n4:");
}
#else
#define HOW  "builtins"
#define LOOP for (; n; n--)
static void add(struct place *p, uint64_t n)
{
	LOOP++ *(volatile uint64_t *)p->word;
}

static void fetch_add(struct place *p, uint64_t n)
{
	LOOP __atomic_fetch_add(p->word, 1, __ATOMIC_RELAXED);
}

static void compare_exchange(struct place *p, uint64_t n)
{
	LOOP
	{
		uint64_t value = __atomic_load_n(p->word, __ATOMIC_RELAXED);

		while (!__atomic_compare_exchange_n(p->word, &value, value + 1, true,
						    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			;
	}
}

static void spin(struct place *p, uint64_t n)
{
	LOOP
	{
		while (__atomic_exchange_n((uint32_t *)p->word, 1, __ATOMIC_ACQUIRE))
			;
		++*(volatile uint64_t *)&p->word[1];
		__atomic_store_n((uint32_t *)p->word, 0, __ATOMIC_RELEASE);
	}
}

static void ticket(struct place *p, uint64_t n)
{
	uint32_t *next = (uint32_t *)p->word, *serving = next + 1;

	LOOP
	{
		const uint32_t mine = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED);

		while (__atomic_load_n(serving, __ATOMIC_ACQUIRE) != mine)
			;
		++*(volatile uint64_t *)&p->word[1];
		__atomic_store_n(serving, mine + 1, __ATOMIC_RELEASE);
	}
}

static void mcs(struct place *p, uint64_t n)
{
	LOOP
	{
		uint64_t me = (uintptr_t)p->node;

		__atomic_store_n(&p->node[0], 0, __ATOMIC_RELAXED);
		__atomic_store_n((unsigned char *)&p->node[1], 1, __ATOMIC_RELAXED);
		if (__atomic_exchange_n(p->word, me, __ATOMIC_ACQ_REL))
			abort();
		++*(volatile uint64_t *)&p->word[1];
		if (__atomic_load_n(&p->node[0], __ATOMIC_ACQUIRE) ||
		    !__atomic_compare_exchange_n(p->word, &me, 0, false, __ATOMIC_RELEASE,
						 __ATOMIC_RELAXED))
			abort();
	}
}
#endif

static void mutex(struct place *p, uint64_t n)
{
	for (; n; n--) {
		pthread_mutex_lock(&p->mutex);
		++*(volatile uint64_t *)&p->guarded;
		pthread_mutex_unlock(&p->mutex);
	}
}

static const struct {
	const char *name;
	void (*run)(struct place *, uint64_t);
	size_t word; /* offset of the word that is counted up */
} operations[] = {
	{ "add", add, 0 },
	{ "fetch-add", fetch_add, 0 },
	{ "compare-exchange", compare_exchange, 0 },
	{ "mutex", mutex, offsetof(struct place, guarded) },
	{ "spin", spin, 8 },
	{ "ticket", ticket, 8 },
	{ "mcs", mcs, 8 },
};

static double time_operation(unsigned which)
{
	static _Alignas(PAGE) struct place place;
	double times[SAMPLES];
	uint64_t did, told = 0;

	memset(&place, 0, sizeof(place));
	for (unsigned i = 0; i < SAMPLES; i++) {
		const uint64_t before = told;
		double begin = now(), end;

		do {
			operations[which].run(&place, OPERATIONS);
			told += OPERATIONS;
			end = now();
		} while (end - begin < SAMPLE);
		times[i] = (end - begin) / (double)(told - before);
	}
	memcpy(&did, (const unsigned char *)&place + operations[which].word, sizeof(did));
	if (did != told) {
		fprintf(stderr, "bare: %s did not count as often as it was told\n",
			operations[which].name);
		exit(2);
	}
	return undisturbed(times, SAMPLES, 10);
}

/* ---- ping-pong ---- */

struct side {
	volatile uint64_t *number;
	pthread_t thread;
	int cpu;
	double seconds;
};

static void *return_ball(void *argument)
{
	struct side *s = argument;

	stay_on(s->cpu);
	for (uint64_t n = 1; n < 2 * TURNS; n += 2)
		while (!__sync_bool_compare_and_swap(s->number, n, n + 1))
			;
	return NULL;
}

static void *serve_ball(void *argument)
{
	struct side *s = argument;
	double begin = 0;

	stay_on(s->cpu);
	for (uint64_t n = 0; n < 2 * TURNS; n += 2) {
		while (!__sync_bool_compare_and_swap(s->number, n, n + 1))
			;
		if (n == 2) /* the other is there */
			begin = now();
	}
	while (*s->number < 2 * TURNS)
		;
	s->seconds = now() - begin;
	return NULL;
}

/* The line goes over 2 * TURNS times; the clock starts when it has done so 3 times. */
static double time_transfer(const int cpu[2])
{
	static _Alignas(PAGE) struct {
		_Alignas(256) uint64_t number;
	} line[LINES];
	double times[LINES];

	for (unsigned i = 0; i < LINES; i++) {
		struct side side[2];

		for (unsigned j = 0; j < 2; j++) {
			side[j].number = &line[i].number;
			side[j].cpu = cpu[j];
			if (pthread_create(&side[j].thread, NULL, j ? return_ball : serve_ball,
					   &side[j]))
				exit(2);
		}
		for (unsigned j = 0; j < 2; j++)
			pthread_join(side[j].thread, NULL);
		times[i] = side[0].seconds / (2 * TURNS - 3);
	}
	return undisturbed(times, LINES, 4);
}

static void *nothing(void *unused)
{
	return unused;
}

/*
 * The C library's mutex does without atomic instructions as long as there has been one thread only.
 */
static void be_several(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, nothing, NULL))
		exit(2);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	const int cpu[2] = { argc > 1 ? atoi(argv[1]) : -1, argc > 2 ? atoi(argv[2]) : -1 };

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: bare CPU [CPU]\n");
		return 2;
	}
	stay_on(cpu[0]);
	be_several();
	printf("loops: %s\n", HOW);
	for (unsigned i = 0; i < sizeof(operations) / sizeof(*operations); i++)
		printf("%s: %.6g\n", operations[i].name, time_operation(i));
	if (argc == 3)
		printf("core-to-core: %.6g\n", time_transfer(cpu));
	return 0;
}
