/* SPDX-License-Identifier: Apache-2.0 */
/* The measured walks, and the streams. */
#include <string.h>

#include "base/flush.h"
#include "base/relax.h"
#include "bench/coherence/coherence.h"
#include "kit/instructions.h"
#include "kit/random.h"
#include "machine/clock.h"

static struct link *link_at(const struct lines *l, size_t turn)
{
	return (struct link *)(l->base + random_permute(turn, l->n, l->seed) * l->apart);
}

struct link *lines_first(const struct lines *l)
{
	return link_at(l, 0);
}

static void link_to(struct link *from, struct link *to)
{
	atomic_store_explicit(&from->next, to, memory_order_relaxed);
}

struct link *lines_lay(const struct lines *l, uint64_t number)
{
	enum { ENDS = 7 }; /* words of a line beside the link */
	struct link *const first = lines_first(l), *const end = first + 1 + number % ENDS;
	struct link *at = first;

	for (size_t turn = 0; turn < l->n; turn++) {
		const bool last = turn + 1 == l->n;
		struct link *const next = last ? first : link_at(l, turn + 1);

		if (number % 2)
			link_to(next, turn ? at : end);
		else
			link_to(at, last ? end : next);
		at = next;
	}
	return end;
}

bool lines_can_flush(void)
{
	return !flush_lacks();
}

void lines_flush(const struct lines *l)
{
	flush_wait(); /* a store that is still pending would bring its line back */
	for (size_t i = 0; i < l->n; i++)
		flush_line(l->base + i * l->apart);
	flush_wait();
}

bool lines_hold(const struct lines *l, const struct link *mark)
{
	for (size_t turn = 0; turn < l->n; turn++)
		if (atomic_load_explicit(&link_at(l, turn)->next, memory_order_relaxed) != mark)
			return false;
	return true;
}

__attribute__((noinline)) struct link *walk_load(struct link *at, uint64_t n, struct link *mark)
{
	(void)mark;
	for (; n; n--)
		at = atomic_load_explicit(&at->next, memory_order_relaxed);
	return at;
}

__attribute__((noinline)) struct link *walk_store(struct link *at, uint64_t n, struct link *mark)
{
	for (; n; n--)
		at = atomic_exchange_explicit(&at->next, mark, memory_order_relaxed);
	return at;
}

/* One reading of the counter a line; the histogram is written while the next line is awaited. */
static inline uint64_t note(struct histogram *h, uint64_t before)
{
	const uint64_t now = clock_ticks_now();

	histogram_add(h, (double)(now - before));
	return now;
}

struct link *walk_load_noting(struct link *at, uint64_t n, struct link *mark, struct histogram *h)
{
	(void)mark;
	for (uint64_t before = clock_ticks_now(); n; n--) {
		at = atomic_load_explicit(&at->next, memory_order_relaxed);
		before = note(h, before);
	}
	return at;
}

struct link *walk_store_noting(struct link *at, uint64_t n, struct link *mark, struct histogram *h)
{
	for (uint64_t before = clock_ticks_now(); n; n--) {
		at = atomic_exchange_explicit(&at->next, mark, memory_order_relaxed);
		before = note(h, before);
	}
	return at;
}

/* ---- streams ---- */

/*
 * Failed looks after which a waiting side yields its CPU; no pause between looks: see
 * core-to-core/exchange.c.
 */
enum { LOOKS = 1 << 14 };

static uint64_t await(_Atomic uint64_t *word, uint64_t least)
{
	uint64_t seen;

	for (unsigned looks = 0; (seen = atomic_load_explicit(word, memory_order_acquire)) < least;)
		if (++looks % LOOKS == 0)
			cpu_yield();
	return seen;
}

/* Wide stores: with narrow ones the stores might be the limit, and not the transfer. */
#define FILL(NAME, WIDTH, TARGET)                                                              \
	TARGET __attribute__((noinline)) void stream_fill_##NAME(char *part, size_t bytes,     \
								 uint64_t word)                \
	{                                                                                      \
		typedef uint64_t vector __attribute__((vector_size(WIDTH), may_alias));        \
		enum { VECTORS = STREAM_STEP / (WIDTH) };                                      \
		vector all = { 0 }, *const end = (vector *)(part + bytes);                     \
                                                                                               \
		all += word;                                                                   \
		for (vector *at = (vector *)part; at < end; at += VECTORS)                     \
			_Pragma("GCC unroll 4") for (unsigned i = 0; i < VECTORS; i++) at[i] = \
				all;                                                           \
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
		_Pragma("GCC unroll 4") for (unsigned i = 0; i < VECTORS; i++) sum[i] += at[i];
	sum[0] += sum[1] + sum[2] + sum[3];
	return sum[0][0] + sum[0][1];
}

void stream_restart(struct stream *s)
{
	atomic_store_explicit(&s->written, 0, memory_order_relaxed);
	atomic_store_explicit(&s->taken, 0, memory_order_relaxed);
}

/* The value of all words of a part: one byte repeated, different from the next 255 parts. */
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
	uint64_t taken = 0; /* as far as the writer knows: each look fetches a line */

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
