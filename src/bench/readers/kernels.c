/* SPDX-License-Identifier: Apache-2.0 */
#include "base/relax.h"
#include "bench/readers/kernels.h"
#include "kit/opaque.h"

/* The address depends on the value, by nothing: two cycles more than the load itself. */
__attribute__((noinline)) void readers_read(void *words, uint64_t n)
{
	const struct words *p = words;
	_Atomic uint64_t *word = p->read;
	uint64_t nothing = 0;

	OPAQUE(nothing);
	for (; n; n--)
		word += atomic_load_explicit(word, memory_order_relaxed) & nothing;
	OPAQUE(word);
}

__attribute__((noinline)) void readers_write(void *words, uint64_t n)
{
	const struct words *p = words;
	_Atomic uint64_t *word = p->written;
	uint64_t value = atomic_load_explicit(word, memory_order_relaxed);
	const uint64_t pauses = p->pauses;

	for (; n; n--) {
		atomic_store_explicit(word, ++value, memory_order_relaxed);
		for (uint64_t i = 0; i < pauses; i++)
			cpu_pause();
	}
}
