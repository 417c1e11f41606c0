/* SPDX-License-Identifier: Apache-2.0 */
/* A turn of a loop that waits for another thread. */
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
 * `turn`: how many came before. From `spins` on the CPU is given to others: the thread that is
 * waited for may need it.
 */
static inline void relax(unsigned turn, unsigned spins)
{
	if (turn < spins)
		cpu_pause();
	else
		sched_yield();
}

#endif
