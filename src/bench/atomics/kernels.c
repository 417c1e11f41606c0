/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/sysfs.h"
#include "bench/atomics/kernels.h"
#include "kit/opaque.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif

/* Unaligned words are measured on purpose. */
#define MEASURED __attribute__((noinline, no_sanitize("alignment"))) static void
#define RELAXED	 memory_order_relaxed

#define LOAD(BYTES, WORD)                                                                     \
	MEASURED load_##BYTES(void *job, uint64_t n)                                          \
	{                                                                                     \
		struct job *j = job;                                                          \
		char *word = j->word;                                                         \
		uint64_t nothing = 0, sum = 0;                                                \
                                                                                              \
		OPAQUE(nothing);                                                              \
		for (; n; n--) {                                                              \
			const uint64_t value =                                                \
				atomic_load_explicit((_Atomic(WORD) *)(void *)word, RELAXED); \
                                                                                              \
			sum += value;                                                         \
			word += value & nothing;                                              \
		}                                                                             \
		j->got += sum;                                                                \
	}

#define STORE(BYTES, WORD)                                                   \
	MEASURED store_##BYTES(void *job, uint64_t n)                        \
	{                                                                    \
		struct job *j = job;                                         \
		_Atomic(WORD) *word = j->word;                               \
		uint64_t value = j->value;                                   \
                                                                             \
		for (; n; n--)                                               \
			atomic_store_explicit(word, (WORD)++value, RELAXED); \
		j->value = value;                                            \
	}

#define ADD(BYTES, WORD)                                                          \
	MEASURED add_##BYTES(void *job, uint64_t n)                               \
	{                                                                         \
		_Atomic(WORD) *word = ((struct job *)job)->word;                  \
                                                                                  \
		for (; n; n--) {                                                  \
			WORD value = atomic_fetch_add_explicit(word, 1, RELAXED); \
                                                                                  \
			OPAQUE(value);                                            \
		}                                                                 \
	}

#define EXCHANGE(BYTES, WORD)                                                             \
	MEASURED exchange_##BYTES(void *job, uint64_t n)                                  \
	{                                                                                 \
		struct job *j = job;                                                      \
		_Atomic(WORD) *word = j->word;                                            \
		uint64_t value = j->value, got = 0, put = 0;                              \
                                                                                          \
		for (; n; n--) {                                                          \
			uint64_t own = (WORD)++value;                                     \
                                                                                          \
			OPAQUE(own); /* else gcc 14 for RISC-V stores more than a byte */ \
			put += own;                                                       \
			got += atomic_exchange_explicit(word, (WORD)own, RELAXED);        \
			OPAQUE(got); /* otherwise clang adds both in a vector */          \
		}                                                                         \
		j->value = value;                                                         \
		j->got += got;                                                            \
		j->put += put;                                                            \
	}

/*
 * Adds the success flag instead of branching on it: the branch would be mispredicted under
 * contention.
 */
#define COMPARE_EXCHANGE(BYTES, WORD)                                                     \
	MEASURED compare_exchange_##BYTES(void *job, uint64_t n)                          \
	{                                                                                 \
		struct job *j = job;                                                      \
		_Atomic(WORD) *word = j->word;                                            \
		WORD expected = (WORD)j->value;                                           \
		uint64_t hits = 0;                                                        \
                                                                                          \
		for (; n; n--) {                                                          \
			const bool hit = atomic_compare_exchange_strong_explicit(         \
				word, &expected, (WORD)(expected + 1), RELAXED, RELAXED); \
                                                                                          \
			expected = (WORD)(expected + hit);                                \
			hits += hit;                                                      \
		}                                                                         \
		j->value = expected;                                                      \
		j->hits += hits;                                                          \
	}

#define ALL(BYTES, WORD)      \
	LOAD(BYTES, WORD)     \
	STORE(BYTES, WORD)    \
	ADD(BYTES, WORD)      \
	EXCHANGE(BYTES, WORD) \
	COMPARE_EXCHANGE(BYTES, WORD)
ALL(1, uint8_t)
ALL(2, uint16_t)
ALL(4, uint32_t)
ALL(8, uint64_t)

/*
 * 16 bytes, by the instructions themselves: C's atomics call libatomic, which may take a lock. The
 * second half of the word is the complement of the first.
 */
#if defined(__x86_64__)
typedef uint64_t pair __attribute__((vector_size(16)));

static inline pair loaded(const void *word)
{
	pair value;

	__asm__ volatile("movdqa %1, %0" : "=x"(value) : "m"(*(const pair *)word));
	return value;
}

MEASURED store_16(void *job, uint64_t n)
{
	struct job *j = job;
	pair *word = j->word, value = { j->value, ~j->value };
	const pair next = { 1, UINT64_MAX };

	for (; n; n--) {
		value += next;
		__asm__ volatile("movdqa %1, %0" : "=m"(*word) : "x"(value));
	}
	j->value = value[0];
}

static inline bool exchanged(void *word, uint64_t expected[2], const uint64_t desired[2])
{
	bool hit;

	__asm__ volatile("lock cmpxchg16b %1"
			 : "=@ccz"(hit), "+m"(*(pair *)word), "+a"(expected[0]), "+d"(expected[1])
			 : "b"(desired[0]), "c"(desired[1])
			 : "memory");
	return hit;
}
#elif defined(__aarch64__)
typedef uint64_t pair __attribute__((vector_size(16)));

static inline pair loaded(const void *word)
{
	uint64_t low, high;

	__asm__ volatile("ldp %0, %1, %2" : "=r"(low), "=r"(high) : "Q"(*(const pair *)word));
	return (pair){ low, high };
}

MEASURED store_16(void *job, uint64_t n)
{
	struct job *j = job;
	uint64_t value = j->value;

	for (; n; n--) {
		value++;
		__asm__ volatile("stp %1, %2, %0"
				 : "=Q"(*(pair *)j->word)
				 : "r"(value), "r"(~value));
	}
	j->value = value;
}

/* Exchanges by a pair of exclusive accesses, which every CPU has. */
static inline bool exchanged(void *word, uint64_t expected[2], const uint64_t desired[2])
{
	uint64_t low, high;
	uint32_t failed;
	bool hit;

	__asm__ volatile("1:\tldxp %[low], %[high], %[word]\n\t"
			 "cmp %[low], %[first]\n\t"
			 "ccmp %[high], %[second], #0, eq\n\t"
			 "mov %w[failed], #1\n\t"
			 "b.ne 2f\n\t"
			 "stxp %w[failed], %[more], %[most], %[word]\n\t"
			 "cbnz %w[failed], 1b\n"
			 "2:"
			 : [low] "=&r"(low), [high] "=&r"(high), [failed] "=&r"(failed),
			   [word] "+Q"(*(pair *)word)
			 : [first] "r"(expected[0]), [second] "r"(expected[1]),
			   [more] "r"(desired[0]), [most] "r"(desired[1])
			 : "cc", "memory");
	hit = !failed;
	expected[0] = low;
	expected[1] = high;
	return hit;
}
#else
#define load_16		    NULL
#define store_16	    NULL
#define compare_exchange_16 NULL
#endif

#if defined(__x86_64__) || defined(__aarch64__)
MEASURED load_16(void *job, uint64_t n)
{
	struct job *j = job;
	const char *word = j->word;
	uint64_t nothing = 0, sum = 0;

	OPAQUE(nothing);
	for (; n; n--) {
		const pair value = loaded(word);

		sum += 2 * value[0] + value[1] + 1;
		word += value[0] & nothing;
	}
	j->got += sum;
}

MEASURED compare_exchange_16(void *job, uint64_t n)
{
	struct job *j = job;
	void *word = j->word;
	uint64_t expected[2] = { j->value, ~j->value }, hits = 0;

	for (; n; n--) {
		const uint64_t desired[2] = { expected[0] + 1, expected[1] - 1 };
		const bool hit = exchanged(word, expected, desired);

		expected[0] += hit;
		expected[1] -= hit;
		hits += hit;
	}
	j->value = expected[0];
	j->hits += hits;
}
#endif

kernel *const atomics_kernels[OPERATIONS][SIZES] = {
	[OPERATION_LOAD] = { load_1, load_2, load_4, load_8, load_16 },
	[OPERATION_STORE] = { store_1, store_2, store_4, store_8, store_16 },
	[OPERATION_ADD] = { add_1, add_2, add_4, add_8 },
	[OPERATION_EXCHANGE] = { exchange_1, exchange_2, exchange_4, exchange_8 },
	[OPERATION_COMPARE_EXCHANGE] = { compare_exchange_1, compare_exchange_2, compare_exchange_4,
					 compare_exchange_8, compare_exchange_16 },
};

const char *atomics_lack(enum operation operation, unsigned bytes)
{
	if (bytes < 16)
		return NULL;
#if defined(__x86_64__)
	unsigned a, b, c = 0, d;

	__get_cpuid(1, &a, &b, &c, &d);
	if (operation == OPERATION_COMPARE_EXCHANGE)
		return c & bit_CMPXCHG16B ? NULL : "this CPU lacks cmpxchg16b";
	return c & bit_AVX ? NULL
			   : "16 bytes are loaded and stored in one access by CPUs with AVX only";
#elif defined(__aarch64__)
	const unsigned long lse2 = 1UL << 25; /* HWCAP_USCAT */

	if (operation == OPERATION_COMPARE_EXCHANGE || getauxval(AT_HWCAP) & lse2)
		return NULL;
	return "16 bytes are loaded and stored in one access by CPUs with LSE2 only";
#else
	(void)operation;
	return "no instruction for 16 bytes is known for this architecture";
#endif
}

#ifdef __x86_64__
/* Whether a list of words, divided by blanks, has this one. */
static bool has_word(const char *list, const char *word)
{
	const size_t length = strlen(word);

	for (const char *at = list; at && (at = strstr(at, word)); at += length)
		if ((at == list || strchr(" \t", at[-1])) && strchr(" \t\n", at[length]))
			return true;
	return false;
}

/* With both, a split lock ends its process by SIGBUS; without the flag the CPU cannot detect it. */
static bool is_fatal(const char *root)
{
	char *cpu = sysfs_text(root, "/proc/cpuinfo"), *flags = field_text(cpu, "flags"),
	     *given = sysfs_line(root, "/proc/cmdline");
	const bool fatal =
		(has_word(flags, "split_lock_detect") || has_word(flags, "bus_lock_detect")) &&
		has_word(given, "split_lock_detect=fatal");

	free(cpu);
	free(flags);
	free(given);
	return fatal;
}
#endif

const char *splits_refused(const char *root, bool across)
{
#ifdef __x86_64__
	if (across && is_fatal(root))
		return "a split lock - an atomic instruction on two lines - would end the process "
		       "by SIGBUS: this kernel was started with split_lock_detect=fatal";
	return NULL;
#else
	(void)root, (void)across;
	return "on this architecture unaligned atomic accesses fault";
#endif
}
