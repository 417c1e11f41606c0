/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bucket of two cache lines, and the protocol of its readers and writers. The first line has a
 * word and seven keys, which are compared together; the second has the chain and the values.
 *
 * `word` has a bit for each slot in use, the writers' lock, whether the bucket has been moved to
 * the next table, whether it has overflow buckets, and a version, which increases with every change
 * except the replacement of a value. `chain` has the index of the first overflow bucket, and tags:
 * one bit for each of 32 classes of keys that may be in the chain, so that it is seldom searched in
 * vain. Only home buckets are locked; their word guards the whole chain. An overflow bucket has
 * only the slots' bits in its word, and only an index in `chain`.
 *
 * Readers load the word, look for the key in slots that are in use, load its value, and accept the
 * result if the word has not changed since, except for the lock. Why that is enough:
 * - A slot is filled while it is not in use, and then published by the word. So a reader that sees
 *   the bit (acquire) sees key and value (written before the release).
 * - Before a slot or an overflow bucket is used again, the word is stored with a new version. The
 *   new keys and values are stored after that, with release. So a reader that loads (acquire)
 *   anything of the new use sees the new version when it loads the word again, and retries.
 * - A value is replaced in place by one store: the reader sees the old or the new one, and both
 *   were right at some moment while it read.
 * - Each store of a writer under the lock leaves a state that readers may see: a writer that is
 *   stopped anywhere stops no reader. A reader that sees BUCKET_CHAINED with an empty chain finds
 *   nothing there. A reader that does not see it yet is ordered before the keys of the chain.
 * A bucket that has been moved has no slot in use. The version has 54 bits: it does not wrap around
 * while anybody reads.
 */
#ifndef LOCUS_SOLVE_MAP_BUCKET_H
#define LOCUS_SOLVE_MAP_BUCKET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/relax.h"
#include "machine/clock.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Slots are 1 to BUCKET_SLOTS, and so are their bits. */
#define BUCKET_SLOTS   7u
#define BUCKET_LOCK    UINT64_C(1)
#define BUCKET_USED    UINT64_C(0xfe)
#define BUCKET_MOVED   UINT64_C(0x100)
#define BUCKET_CHAINED UINT64_C(0x200) /* there are overflow buckets */
#define BUCKET_CHANGE  UINT64_C(0x400) /* added for a new version */

struct bucket {
	union {
		_Atomic uint64_t word;
		_Atomic uint64_t key[1 + BUCKET_SLOTS]; /* from 1 on */
	};
	union {
		_Atomic uint64_t chain; /* index (low half), tags (high half) */
		_Atomic uint64_t value[1 + BUCKET_SLOTS];
	};
} __attribute__((aligned(128)));

static inline uint64_t bucket_load(_Atomic uint64_t *from)
{
	return atomic_load_explicit(from, memory_order_acquire);
}

static inline void bucket_store(_Atomic uint64_t *to, uint64_t what)
{
	atomic_store_explicit(to, what, memory_order_release);
}

static inline uint32_t bucket_next(uint64_t chain)
{
	return (uint32_t)chain;
}

static inline uint64_t bucket_tag(uint64_t hash)
{
	return UINT64_C(1) << (32 + hash % 32);
}

/* The bit of the used slot that has the key; 0: none. Compares key by key. */
static inline uint64_t bucket_match_all(struct bucket *b, uint64_t word, uint64_t key)
{
	uint64_t found = 0;

	for (unsigned i = 1; i <= BUCKET_SLOTS; i++)
		found |= (uint64_t)(bucket_load(&b->key[i]) == key) << i;
	return found & word;
}

/*
 * Bits of slots in use that may have the key: the lower 32 bits agree, seldom in more than one.
 * Without a branch, which could not be predicted. On every x86-64 the halves of an aligned vector
 * are read whole, and in order; C has no atomic vectors, so ThreadSanitizer is shown single words.
 */
#if defined(__SSE2__) && !TSAN
static inline __m128i bucket_halves(const __m128i *four, __m128i wanted)
{
	const __m128 halves = _mm_shuffle_ps(_mm_castsi128_ps(four[0]), _mm_castsi128_ps(four[1]),
					     _MM_SHUFFLE(2, 0, 2, 0));

	return _mm_cmpeq_epi32(_mm_castps_si128(halves), wanted);
}

static inline uint64_t bucket_candidates(struct bucket *b, uint64_t word, uint64_t key)
{
	const __m128i *line = (const __m128i *)b->key, wanted = _mm_set1_epi32((int)key);
	const __m128i all =
		_mm_packs_epi32(bucket_halves(line, wanted), bucket_halves(line + 2, wanted));

	atomic_signal_fence(memory_order_acquire);
	return (uint64_t)_mm_movemask_epi8(_mm_packs_epi16(all, all)) & word & BUCKET_USED;
}
#else
static inline uint64_t bucket_candidates(struct bucket *b, uint64_t word, uint64_t key)
{
	return bucket_match_all(b, word, key);
}
#endif

static inline size_t bucket_first(uint64_t slots)
{
	return (size_t)__builtin_ctzll(slots);
}

/* Bits of used slots; the slot of the lowest bit has the key. 0: none has. */
static inline uint64_t bucket_match(struct bucket *b, uint64_t word, uint64_t key)
{
	const uint64_t found = bucket_candidates(b, word, key);

	if (__builtin_expect(found && bucket_load(&b->key[bucket_first(found)]) != key, 0))
		return bucket_match_all(b, word, key);
	return found;
}

/* Bit of the first slot not in use; 0: all are. */
static inline uint64_t bucket_free(uint64_t word)
{
	const uint64_t free = ~word & BUCKET_USED;

	return free & -free;
}

/* Whether everything read since the word was loaded is valid. */
static inline bool bucket_unchanged(struct bucket *b, uint64_t word)
{
	return !((atomic_load_explicit(&b->word, memory_order_relaxed) ^ word) & ~BUCKET_LOCK);
}

/* A cheaper test that mostly suffices: it also returns false if only the lock has changed. */
static inline bool bucket_same(struct bucket *b, uint64_t word)
{
	return atomic_load_explicit(&b->word, memory_order_relaxed) == word;
}

/* Prefetches the line for writing. */
static inline void bucket_fetch_own(const _Atomic uint64_t *line)
{
#if defined(__x86_64__)
	/* without -mprfchw gcc prefetches for reading; CPUs that lack prefetchw ignore it */
	__asm__ volatile("prefetchw %0" : : "m"(*line));
#else
	__builtin_prefetch(line, 1);
#endif
}

/* Waits until the other writer unlocks, then locks. Returns what bucket_lock() returns. */
static inline uint64_t bucket_wait(struct bucket *b)
{
	enum { SPINS = 1 << 8 };

	for (unsigned turn = 0;;) {
		uint64_t word;

		if (!(atomic_fetch_or_explicit(&b->word, BUCKET_LOCK, memory_order_acquire) &
		      BUCKET_LOCK))
			return atomic_load_explicit(&b->word, memory_order_relaxed);
		do {
			word = bucket_load(&b->word);
			if (word & BUCKET_MOVED)
				return word;
			if (word & BUCKET_LOCK)
				relax(turn++, SPINS);
		} while (word & BUCKET_LOCK);
	}
}

/*
 * Locks a home bucket. Returns its word with the lock, or with BUCKET_MOVED: then it is not locked.
 * Starts with the exchange, not with a load, so that the line is fetched only once, for writing.
 * Reads the clock only if it has to wait.
 */
static inline uint64_t bucket_lock(struct bucket *b, uint64_t *waited)
{
	uint64_t word = atomic_fetch_or_explicit(&b->word, BUCKET_LOCK, memory_order_acquire),
		 began;

	if (!(word & BUCKET_LOCK))
		return atomic_load_explicit(&b->word, memory_order_relaxed);
	if (word & BUCKET_MOVED)
		return word;
	began = clock_ticks();
	word = bucket_wait(b);
	*waited += clock_ticks() - began;
	return word;
}

/* Locks the bucket if it is unlocked and still has this word. */
static inline bool bucket_try_lock(struct bucket *b, uint64_t word)
{
	return !(word & (BUCKET_LOCK | BUCKET_MOVED)) &&
	       atomic_compare_exchange_strong_explicit(&b->word, &word, word | BUCKET_LOCK,
						       memory_order_acquire, memory_order_relaxed);
}

/* Publishes the used slots with a new version, and keeps the lock. Returns the word. */
static inline uint64_t bucket_publish(struct bucket *b, uint64_t word)
{
	word += BUCKET_CHANGE;
	bucket_store(&b->word, word);
	return word;
}

/* Publishes a new version, and unlocks. */
static inline void bucket_unlock_changed(struct bucket *b, uint64_t word)
{
	bucket_store(&b->word, (word + BUCKET_CHANGE) & ~BUCKET_LOCK);
}

/* Unlocks without a new version: nothing has changed. */
static inline void bucket_unlock(struct bucket *b, uint64_t word)
{
	bucket_store(&b->word, word & ~BUCKET_LOCK);
}

/* Fills a slot that is not in use. */
static inline void bucket_fill(struct bucket *b, size_t slot, uint64_t key, uint64_t value)
{
	bucket_store(&b->value[slot], value);
	bucket_store(&b->key[slot], key);
}

#endif
