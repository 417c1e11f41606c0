/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/relax.h"
#include "bench/coherence/stream.h"
#include "kit/instructions.h"

/* Failed looks after which a waiting side yields its CPU; no pause between looks: see exchange.c */
enum { LOOKS = 1 << 14 };

static uint64_t await(_Atomic uint64_t *word, uint64_t least)
{
	uint64_t seen;

	for (unsigned looks = 0; (seen = atomic_load_explicit(word, memory_order_acquire)) < least;)
		if (++looks % LOOKS == 0)
			cpu_yield();
	return seen;
}

/* With narrow stores they, and not the transfer, may be the limit. */
#define FILL(NAME, WIDTH, TARGET)                                                            \
	TARGET __attribute__((noinline)) void stream_fill_##NAME(char *part, size_t bytes,   \
								 uint64_t word)              \
	{                                                                                    \
		typedef uint64_t vector __attribute__((vector_size(WIDTH), may_alias));      \
		enum { VECTORS = STREAM_STEP / (WIDTH) };                                    \
		vector all = { 0 }, *const end = (vector *)(part + bytes);                   \
                                                                                             \
		all += word;                                                                 \
		for (vector *at = (vector *)part; at < end; at += VECTORS)                   \
			_Pragma("GCC unroll 4") for (unsigned i = 0; i < VECTORS; i++)       \
				at[i] = all;                                                 \
	}
FILL(baseline, 16, )
#ifdef __x86_64__
FILL(avx2, 32, TARGET_AVX2)
FILL(avx512, 64, TARGET_AVX512)
#endif

void stream_fill_widest(char *part, size_t bytes, uint64_t word)
{
#ifdef __x86_64__
	if (isa_usable(ISA_AVX512))
		stream_fill_avx512(part, bytes, word);
	else if (isa_usable(ISA_AVX2))
		stream_fill_avx2(part, bytes, word);
	else
#endif
		stream_fill_baseline(part, bytes, word);
}

void stream_fill_memset(char *part, size_t bytes, uint64_t word)
{
	memset(part, (int)(word & 0xff), bytes);
}

__attribute__((noinline)) uint64_t stream_sum(const char *part, size_t bytes)
{
	typedef uint64_t vector __attribute__((vector_size(16), may_alias));
	enum { VECTORS = STREAM_STEP / sizeof(vector) };
	const vector *end = (const vector *)(part + bytes);
	vector sum[VECTORS] = { { 0, 0 } };

	for (const vector *at = (const vector *)part; at < end; at += VECTORS)
		_Pragma("GCC unroll 4") for (unsigned i = 0; i < VECTORS; i++)
			sum[i] += at[i];
	sum[0] += sum[1] + sum[2] + sum[3];
	return sum[0][0] + sum[0][1];
}

void stream_restart(struct stream *s)
{
	atomic_store_explicit(&s->written, 0, memory_order_relaxed);
	atomic_store_explicit(&s->taken, 0, memory_order_relaxed);
}

/* What all words of a part hold: one byte again and again, other ones in the next 255 parts. */
static uint64_t word_of(uint64_t number)
{
	return (number & 0xff) * UINT64_C(0x0101010101010101);
}

static char *part_of(const struct stream *s, uint64_t number)
{
	return s->buffer + number % STREAM_PARTS * s->part;
}

void stream_write(struct stream *s, uint64_t parts)
{
	uint64_t taken = 0; /* as far as known: each look fetches a line */

	for (uint64_t i = 1; i <= parts; i++) {
		if (i > taken + STREAM_PARTS)
			taken = await(&s->taken, i - STREAM_PARTS);
		s->fill(part_of(s, i), s->part, word_of(i));
		atomic_store_explicit(&s->written, i, memory_order_release);
	}
}

void stream_read(struct stream *s, uint64_t parts)
{
	const uint64_t words = s->part / sizeof(uint64_t);
	uint64_t written = 0;

	for (uint64_t i = 1; i <= parts; i++) {
		if (i > written)
			written = await(&s->written, i);
		if (stream_sum(part_of(s, i), s->part) != words * word_of(i))
			s->wrong = true;
		atomic_store_explicit(&s->taken, i, memory_order_release);
	}
}
