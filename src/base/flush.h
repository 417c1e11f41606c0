/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evicts lines from all caches, so that their next load comes from memory: by instructions that
 * Linux leaves to user programs.
 */
#ifndef LOCUS_FLUSH_H
#define LOCUS_FLUSH_H

#include <stddef.h>

/* Why lines can't be evicted; NULL: they can. */
static inline const char *flush_lacks(void)
{
#if defined(__x86_64__) || defined(__aarch64__)
	return NULL;
#else
	return "no instruction that evicts a cache line is known for this architecture";
#endif
}

/* Begins to evict the line of this address. */
static inline void flush_line(const void *at)
{
#if defined(__x86_64__)
	__asm__ volatile("clflush (%0)" : : "r"(at) : "memory");
#elif defined(__aarch64__)
	__asm__ volatile("dc civac, %0" : : "r"(at) : "memory");
#else
	(void)at;
#endif
}

/* Returns when all lines are evicted, and all loads before are done. */
static inline void flush_wait(void)
{
#if defined(__x86_64__)
	__asm__ volatile("mfence\n\tlfence" : : : "memory");
#elif defined(__aarch64__)
	__asm__ volatile("dsb ish\n\tisb" : : : "memory");
#endif
}

#endif
