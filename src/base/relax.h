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

#endif
