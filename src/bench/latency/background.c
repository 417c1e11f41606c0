/* SPDX-License-Identifier: Apache-2.0 */
#include "base/relax.h"
#include "base/statistics.h"
#include "bench/latency/latency.h"
#include "kit/loop.h"
#include "machine/clock.h"
#include "machine/memory/region.h"
#include "machine/topology/topology.h"

/* A late thread makes up for at most this many blocks; more would be a burst. */
#define LATE_BLOCKS 8

/* Stores a vector of 16 bytes (on Arm two of them, 32) past the caches. */
#if defined(__x86_64__)
#include <emmintrin.h>
#define STREAM_BYTES	  16
#define STREAM(to, value) _mm_stream_si128((__m128i *)(to), _mm_set1_epi64x((long long)(value)))
#elif defined(__aarch64__)
typedef uint64_t pair __attribute__((vector_size(16)));
#define STREAM_BYTES 32
#define STREAM(to, value)                          \
	__asm__ volatile("stnp %q1, %q1, %0"       \
			 : "=Q"(*(pair(*)[2])(to)) \
			 : "w"((pair){ (value), (value) }))
#else
#define STREAM_BYTES	  8
#define STREAM(to, value) (*(volatile uint64_t *)(to) = (value))
#endif

/* One word of each line, since whole lines are transferred. */
static uint64_t read_lines(const char *from, size_t line, unsigned n)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += *(const volatile uint64_t *)(from + i * line);
	return sum;
}

static void write_lines(char *to, size_t line, unsigned n, uint64_t value)
{
	for (unsigned i = 0; i < n; i++)
		*(volatile uint64_t *)(to + i * line) = value + i;
}

/* Writes whole lines; for part of a line, the rest would have to be fetched. */
static void stream_lines(char *to, size_t line, unsigned n, uint64_t value)
{
	for (size_t at = 0; at < n * line; at += STREAM_BYTES)
		STREAM(to + at, value);
}

/* The next n lines of the stream, of `bytes` bytes. */
static char *next_of(struct stream *s, size_t bytes)
{
	char *lines = s->lines + s->at;

	s->at = s->at + 2 * bytes <= s->bytes ? s->at + bytes : 0;
	return lines;
}

static void one_block(struct background *b)
{
	uint64_t sum = 0;

	if (b->read)
		sum = read_lines(next_of(&b->reads, b->read * b->line), b->line, b->read);
	if (b->written && b->cached)
		write_lines(next_of(&b->writes, b->written * b->line), b->line, b->written, sum);
	else if (b->written)
		stream_lines(next_of(&b->writes, b->written * b->line), b->line, b->written, sum);
}

unsigned background_transfers(const struct background *b)
{
	return b->read + (b->cached ? 2 : 1) * b->written;
}

/* Ticks that a block takes at the requested rate. */
static uint64_t pace_of(const struct background *b, const struct trial *t)
{
	const double rate = (double)t->value[RATE].count * 1e9 / (t->threads - 1);

	return rate > 0 ? (uint64_t)((double)(background_transfers(b) * b->line) / rate /
				     clock_tick())
			: 0;
}

int background_map(struct background *b, const struct trial *t, unsigned worker, size_t bytes,
		   int node)
{
	struct region *region =
		region_map(t->arena, "lines of the background", bytes, t->value[PAGES].choice);
	const unsigned written = mix_written(t->value[MIX].choice);
	const size_t line = t->machine->line,
		     reads = bytes / BACKGROUND_BLOCK / line * line * (BACKGROUND_BLOCK - written);

	if (!region)
		return -1;
	b->reads = (struct stream){ region_base(region), reads, 0 };
	b->writes = (struct stream){ (char *)region_base(region) + reads, bytes - reads, 0 };
	b->line = line;
	b->read = BACKGROUND_BLOCK - written;
	b->written = written;
	b->cached = t->value[STORES].choice == STORES_CACHED;
	b->pace = pace_of(b, t);
	b->offset = b->pace * worker / t->threads; /* so that blocks do not come all at once */
	region_home(region, 0, bytes, node);
	region_user(region, 0, bytes, t->place[worker].node);
	return node == t->place[worker].node ? 0 : region_bind(region, node);
}

void background_touch(const struct background *b, size_t page)
{
	for (size_t at = 0; at < b->reads.bytes + b->writes.bytes; at += page)
		((volatile char *)b->reads.lines)[at] = 1;
}

/* Waits until the next block is due. A thread that was late makes up for a few blocks only. */
static void keep_pace(const struct background *b, const struct worker *self, uint64_t *due)
{
	const uint64_t now = clock_ticks();

	*due += b->pace;
	if (now > *due + LATE_BLOCKS * b->pace)
		*due = now;
	while (clock_ticks() < *due && !loop_time_is_up(self))
		cpu_pause();
}

/*
 * Each sample continues where the last one stopped: a sample of 1 ms that started at the first line
 * would find its lines in a cache.
 */
void background_work(struct background *b, struct worker *self)
{
	const unsigned transfers = background_transfers(b);
	uint64_t due = b->pace ? clock_ticks() + b->offset : 0, blocks = 0, before = 0;
	bool counted = false;

	do {
		one_block(b);
		blocks++;
		if (blocks == BACKGROUND_LEAD)
			atomic_fetch_add_explicit(&b->load->running, 1, memory_order_relaxed);
		if (!counted && atomic_load_explicit(&b->load->counted, memory_order_relaxed)) {
			counted = true;
			before = blocks - 1;
		}
		if (b->pace)
			keep_pace(b, self, &due);
	} while (!loop_time_is_up(self));
	self->done = (counted ? blocks - before : 1) * transfers;
}

double background_flood(struct background *b)
{
	enum { CHUNKS = 128, BLOCKS = 64 };
	double rate[CHUNKS];

	for (unsigned i = 0; i < CHUNKS; i++) {
		const double began = clock_now();

		for (unsigned block = 0; block < BLOCKS; block++)
			one_block(b);
		rate[i] = (double)BLOCKS * background_transfers(b) * (double)b->line /
			  (clock_now() - began);
	}
	statistics_sort(rate, CHUNKS);
	return statistics_quantile(rate, CHUNKS, 0.5);
}
