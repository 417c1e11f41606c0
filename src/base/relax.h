/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that wait for another thread: they pause, then yield the CPU. */
#ifndef LOCUS_RELAX_H
#define LOCUS_RELAX_H

#include <sched.h>

static inline void cpu_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/*
 * One turn of a waiting loop; `turn` counts from 0. From turn `spins` on it yields the CPU, which
 * the other thread may need.
 */
static inline void relax(unsigned turn, unsigned spins)
{
	if (turn < spins)
		cpu_pause();
	else
		sched_yield();
}

/*
 * For waiting loops without a pause: leaves the CPU to another thread, and pauses once. An emulator
 * that runs all CPUs in turn, as QEMU may, then switches to the next CPU at once, not after a tenth
 * of a second. A call, so that the loop itself has no pause.
 */
__attribute__((noinline, unused)) static void cpu_yield(void)
{
	cpu_pause();
	sched_yield();
}

/* 1 if compiled with ThreadSanitizer, which gcc and clang announce differently. */
#if defined(__SANITIZE_THREAD__)
#define TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TSAN 1
#endif
#endif

#ifndef TSAN
#define TSAN 0
#endif

#endif
