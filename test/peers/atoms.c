/* SPDX-License-Identifier: Apache-2.0 */
/*
 * atoms - a second opinion on `locus atomics`: loops of the instructions themselves, on the same
 * words, in turn with the kernels. On other processors than x86-64 they are loops of the compiler's
 * builtins, without those on 16 bytes.
 *
 * Prints, for each operation, size and alignment, the median of the ratios and its 95 % interval,
 * and ends with 1 where the two differ by more than 5 %. For a quiet machine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/atomics/kernels.h"
#include "beside.h"
#include "machine/clock.h"
#include "machine/topology/topology.h"

enum { OPERATIONS_OF_A_SAMPLE = 1 << 14, SAMPLES = 20 };
#define LIMIT 0.05

static const uint64_t nothing;

/* ---- the other loops ---- */

#ifdef __x86_64__
/* Runs BODY n times, after FIRST. %0 is the word, %2 is 0. */
#define LOOP(NAME, FIRST, BODY)                                                                 \
	static void NAME(void *word, uint64_t n)                                                \
	{                                                                                       \
		__asm__ volatile(FIRST "\n1:\n\t" BODY "\n\tdec %1\n\tjnz 1b"                   \
				 : "+r"(word), "+r"(n)                                          \
				 : "r"(nothing)                                                 \
				 : "rax", "rbx", "rcx", "rdx", "xmm0", "xmm1", "memory", "cc"); \
	}
/* A, D: the registers of the size; MOVE: a load that widens. */
#define ALL(BYTES, A, D, MOVE)                                                    \
	LOOP(load_##BYTES, "", MOVE "\n\tand %2, %%rax\n\tadd %%rax, %0")         \
	LOOP(store_##BYTES, "xor %%edx, %%edx", "inc %%rdx\n\tmov %%" D ", (%0)") \
	LOOP(add_##BYTES, "", "mov $1, %%eax\n\tlock xadd %%" A ", (%0)")         \
	LOOP(exchange_##BYTES, "xor %%edx, %%edx",                                \
	     "inc %%rdx\n\tmov %%rdx, %%rax\n\txchg %%" A ", (%0)")               \
	LOOP(compare_exchange_##BYTES, "mov (%0), %%" A,                          \
	     "lea 1(%%rax), %%rdx\n\tlock cmpxchg %%" D                           \
	     ", (%0)\n\tjne 2f\n\tmov %%rdx, %%rax\n2:")
ALL(1, "al", "dl", "movzbl (%0), %%eax")
ALL(2, "ax", "dx", "movzwl (%0), %%eax")
ALL(4, "eax", "edx", "mov (%0), %%eax")
ALL(8, "rax", "rdx", "mov (%0), %%rax")
LOOP(load_16, "", "movdqa (%0), %%xmm0\n\tmovq %%xmm0, %%rax\n\tand %2, %%rax\n\tadd %%rax, %0")
LOOP(store_16, "pcmpeqd %%xmm1, %%xmm1\n\tpxor %%xmm0, %%xmm0",
     "psubq %%xmm1, %%xmm0\n\tmovdqa %%xmm0, (%0)")
LOOP(compare_exchange_16, "mov (%0), %%rax\n\tmov 8(%0), %%rdx",
     "lea 1(%%rax), %%rbx\n\tlea -1(%%rdx), %%rcx\n\tlock cmpxchg16b (%0)\n\tjne 2f\n\t"
     "mov %%rbx, %%rax\n\tmov %%rcx, %%rdx\n2:")
#else
#define ALL(BYTES, WORD)                                                                         \
	static void load_##BYTES(void *word, uint64_t n)                                         \
	{                                                                                        \
		for (; n; n--)                                                                   \
			word = (char *)word + (__atomic_load_n((WORD *)word, __ATOMIC_RELAXED) & \
					       *(const volatile uint64_t *)&nothing);            \
		__asm__ volatile("" : : "r"(word));                                              \
	}                                                                                        \
	static void store_##BYTES(void *word, uint64_t n)                                        \
	{                                                                                        \
		for (; n; n--)                                                                   \
			__atomic_store_n((WORD *)word, (WORD)n, __ATOMIC_RELAXED);               \
	}                                                                                        \
	static void add_##BYTES(void *word, uint64_t n)                                          \
	{                                                                                        \
		for (WORD got; n; n--) {                                                         \
			got = __atomic_fetch_add((WORD *)word, 1, __ATOMIC_RELAXED);             \
			__asm__ volatile("" : : "r"(got));                                       \
		}                                                                                \
	}                                                                                        \
	static void exchange_##BYTES(void *word, uint64_t n)                                     \
	{                                                                                        \
		for (WORD got; n; n--) {                                                         \
			got = __atomic_exchange_n((WORD *)word, (WORD)n, __ATOMIC_RELAXED);      \
			__asm__ volatile("" : : "r"(got));                                       \
		}                                                                                \
	}                                                                                        \
	static void compare_exchange_##BYTES(void *word, uint64_t n)                             \
	{                                                                                        \
		WORD now = *(WORD *)word;                                                        \
                                                                                                 \
		for (; n; n--)                                                                   \
			if (__atomic_compare_exchange_n((WORD *)word, &now, now + 1, false,      \
							__ATOMIC_RELAXED, __ATOMIC_RELAXED))     \
				now++;                                                           \
	}
ALL(1, uint8_t)
ALL(2, uint16_t)
ALL(4, uint32_t)
ALL(8, uint64_t)
#define load_16		    NULL
#define store_16	    NULL
#define compare_exchange_16 NULL
#endif

typedef void other(void *word, uint64_t n);
static const struct {
	const char *name;
	other *of[SIZES];
} others[OPERATIONS] = {
	{ "load", { load_1, load_2, load_4, load_8, load_16 } },
	{ "store", { store_1, store_2, store_4, store_8, store_16 } },
	{ "add", { add_1, add_2, add_4, add_8 } },
	{ "exchange", { exchange_1, exchange_2, exchange_4, exchange_8 } },
	{ "compare-exchange",
	  { compare_exchange_1, compare_exchange_2, compare_exchange_4, compare_exchange_8,
	    compare_exchange_16 } },
};

/* ---- side by side ---- */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double median(double sample[SAMPLES])
{
	statistics_sort(sample, SAMPLES);
	return statistics_quantile(sample, SAMPLES, 0.5) / OPERATIONS_OF_A_SAMPLE;
}

static double time_locus(kernel *run, struct job *job)
{
	double sample[SAMPLES];

	for (unsigned i = 0; i < SAMPLES; i++) {
		const double begin = clock_now();

		run(job, OPERATIONS_OF_A_SAMPLE);
		sample[i] = clock_now() - begin;
	}
	return median(sample);
}

static double time_other(other *run, void *word)
{
	double sample[SAMPLES];

	for (unsigned i = 0; i < SAMPLES; i++) {
		const double begin = now();

		run(word, OPERATIONS_OF_A_SAMPLE);
		sample[i] = now() - begin;
	}
	return median(sample);
}

static void compare(enum operation o, unsigned size, bool aligned, unsigned pairs, bool *differ)
{
	static _Alignas(256) unsigned char line[256];
	struct job job = { .word = line + !aligned };
	const uint64_t first[2] = { 0, UINT64_MAX };
	double ours[pairs], theirs[pairs];
	char what[64];

	memcpy(job.word, first, (size_t)1 << size);
	for (unsigned i = 0; i < pairs; i++) {
		ours[i] = time_locus(atomics_kernels[o][size], &job);
		theirs[i] = time_other(others[o].of[size], job.word);
	}
	snprintf(what, sizeof(what), "%-16s %2u%s", others[o].name, 1U << size,
		 aligned ? "" : " +1");
	print_beside(what, ours, theirs, pairs, LIMIT, differ);
}

int main(int argc, char **argv)
{
	struct beside_program program;
	const struct machine *m;
	unsigned pairs;
	bool differ = false;

	if (!beside_begin(&program, argc, argv, "atoms", "usage: atoms [PAIRS], from 6 to 1000"))
		return 2;
	m = program.machine;
	pairs = program.pairs;
	beside_stay_on(m->cpu[m->cpus - 1].number);
	printf("Kernels of atomics against other loops on the same words, %u alternating pairs, "
	       "CPU %d\n%-26s  %11s  %11s  %6s  95 %% interval\n",
	       pairs, m->cpu[m->cpus - 1].number, "operation, bytes", "locus", "other", "ratio");
	for (enum operation o = 0; o < OPERATIONS; o++)
		for (unsigned size = 0; size < SIZES; size++)
			if (others[o].of[size] && !atomics_lack(o, 1U << size))
				compare(o, size, true, pairs, &differ);
#ifdef __x86_64__
	for (enum operation o = OPERATION_ADD; o < OPERATIONS; o++)
		for (unsigned size = 1; size < SIZES - 1; size++)
			compare(o, size, false, pairs, &differ);
#endif
	beside_end(&program);
	return differ;
}
