/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The measured kernels of checkpoint, which count ticks and firings. Separate functions, so that a
 * test can read their machine code.
 */
#ifndef LOCUS_CHECKPOINT_KERNELS_H
#define LOCUS_CHECKPOINT_KERNELS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__) || defined(__aarch64__)
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#define PERCPU 1
#endif
#endif

/*
 * A counter for each CPU, incremented by a restartable sequence (rseq(2)): the kernel restarts it
 * if the thread was preempted, moved to another CPU or interrupted by a signal before the store.
 * So a plain load, add and store lose nothing, though several threads take turns on a CPU.
 */

/* Why there are no restartable sequences; NULL: there are. */
static inline const char *percpu_lacking(void)
{
#ifdef PERCPU
	return __rseq_size ? NULL
			   : "no restartable sequences: they need Linux 4.18 (aarch64: 4.19) or "
			     "later, and that GLIBC_TUNABLES does not turn glibc.pthread.rseq off";
#else
	return "built without restartable sequences: they need the GNU C library 2.35 or later, on "
	       "x86-64 or aarch64";
#endif
}

#ifdef PERCPU

/*
 * The descriptor that the kernel reads: the sequence runs from 1 to 2; if it does not reach 2, it
 * continues at 4. The four bytes before 4 hold the signature that the C library registered; the
 * kernel jumps nowhere else. The dynamic linker writes the absolute addresses.
 */
#define PERCPU_SEQUENCE                    \
	".pushsection __rseq_cs, \"aw\"\n" \
	"	.balign 32\n"                    \
	"3:	.long 0, 0\n"                  \
	"	.quad 1f, 2f - 1f, 4f\n"         \
	"	.popsection\n"                   \
	"	.pushsection __rseq_failure, \"ax\"\n"

#ifdef __x86_64__
/* the signature is the operand of an undefined instruction */
#define PERCPU_INCREMENT                            \
	PERCPU_SEQUENCE                             \
	"	.byte 0x0f, 0xb9, 0x3d\n"                 \
	"	.long %c[signature]\n"                    \
	"4:	jmp 5f\n"                               \
	"	.popsection\n"                            \
	"5:	leaq 3b(%%rip), %[at]\n"                \
	"	movq %[at], %%fs:%c[sequence](%[area])\n" \
	"1:	movl %%fs:%c[cpu](%[area]), %k[at]\n"   \
	"	imulq %[stride], %[at]\n"                 \
	"	movq (%[first],%[at]), %[next]\n"         \
	"	incq %[next]\n"                           \
	"	movq %[next], (%[first],%[at])\n"         \
	"2:\n"
/* from the start of the thread's segment */
#define PERCPU_AREA __rseq_offset
#else
#define PERCPU_INCREMENT                                \
	PERCPU_SEQUENCE                                 \
	"	.inst %c[signature]\n"                        \
	"4:	b 5f\n"                                     \
	"	.popsection\n"                                \
	"5:	adrp %[at], 3b\n"                           \
	"	add %[at], %[at], :lo12:3b\n"                 \
	"	str %[at], [%[area], %[sequence]]\n"          \
	"1:	ldr %w[at], [%[area], %[cpu]]\n"            \
	"	umaddl %[at], %w[at], %w[stride], %[first]\n" \
	"	ldr %[next], [%[at]]\n"                       \
	"	add %[next], %[next], #1\n"                   \
	"	str %[next], [%[at]]\n"                       \
	"2:\n"
#define PERCPU_AREA ((char *)__builtin_thread_pointer() + __rseq_offset)
#endif

#endif

/*
 * Increments the counter of the CPU that the thread runs on, and returns it. `first` is CPU 0's
 * counter; the next CPU's is `stride` bytes further.
 */
static inline uint64_t percpu_increment(_Atomic uint64_t *first, size_t stride)
{
#ifdef PERCPU
	uint64_t next, at;

	__asm__ volatile(PERCPU_INCREMENT
			 : [next] "=&r"(next), [at] "=&r"(at)
			 : [first] "r"(first), [stride] "r"(stride), [area] "r"(PERCPU_AREA),
			   [signature] "i"((uint64_t)RSEQ_SIG),
			   [sequence] "i"(offsetof(struct rseq, rseq_cs)),
			   [cpu] "i"(offsetof(struct rseq, cpu_id))
			 : "memory", "cc");
	return next;
#else
	(void)first, (void)stride;
	return 0;
#endif
}

/* Bytes of a string; strings of a thread, which together stay in its L1. */
enum { STRING = 16, STRINGS = 1024 };

/* Relaxed load and store: a plain increment without undefined behaviour. */
typedef _Atomic uint64_t counter;

static inline uint64_t counter_get(counter *c)
{
	return atomic_load_explicit(c, memory_order_relaxed);
}

/* A thread's counter, and its place among its strings. */
struct ticker {
	counter *tick, *fired;
	uint64_t mask;
	unsigned char *strings; /* STRINGS */
	uint64_t reversed;	/* strings, one after the other, all samples together */
	uint64_t left;		/* countdown: ticks until it fires, from 1 to mask + 1 */
	size_t stride;		/* per CPU: bytes from one CPU's counters to the next one's */
};

/* Ticks n times, and fires after each tick that makes the counter & mask 0. */
typedef void ticks(struct ticker *, uint64_t n);
ticks checkpoint_loop;
/* Also reverses a string before each tick, as the published program does. */
ticks checkpoint_reverse;
/* Ticks with a countdown in a register; the counter gets the ticks at the end. */
ticks countdown_loop, countdown_reverse;
/* Ticks on the counters of the CPU that the thread runs on; tick and fired are CPU 0's. */
ticks percpu_loop, percpu_reverse;

/* The characters of a string at the start. */
static inline unsigned char string_letter(unsigned i)
{
	return (unsigned char)('a' + i);
}

#endif
