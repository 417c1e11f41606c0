/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coherence - a second opinion on `locus coherence`: another walk over the same lines, and another
 * stream through the same buffer, written apart and by another method.
 *
 *			locus						the other
 *	words		the first of a line                             one in the middle
 *	links		addresses                                       numbers of lines
 *	order		Feistel network, no table                       Sattolo's shuffle of a table
 *                      (1986), drawn by xorshift
 *	loads		pointer = *pointer                              i = line[i].next, 4 a turn
 *	stores		C11's atomic exchange                           xchg, or a builtin
 *	stream		vectors; two counters of parts                  words; a flag for each part
 *
 * Two threads, each on a CPU of its own. Before each walk the first one brings all lines into the
 * state, as each side has it done; then the second one is timed. The two sides take turns, and of
 * 32 walks the first decile counts, since disturbances only add time. Prints, for each case, the
 * median of the ratios and its 95 % interval, and ends with 1 where the two differ by more than
 * 5 %. For a quiet machine; 77 on one with one CPU.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <emmintrin.h>
#endif

#include "beside.h"
#include "bench/coherence/coherence.h"
#include "machine/clock.h"
#include "machine/memory/arena.h"
#include "machine/memory/region.h"
#include "machine/topology/topology.h"

#define LIMIT 0.05
enum { SAMPLES = 32, LAPS = 16, MOST = 16384 /* lines */ };

/* --- the first thread: does what it is told --- */

struct owner {
	pthread_t thread;
	int cpu;
	void (*task)(void *);
	void *about;
	unsigned told;
	unsigned done;
};

static void wrong(void)
{
	fprintf(stderr, "coherence: a thread did not read what the other had written\n");
	exit(3);
}

static void *obey(void *argument)
{
	struct owner *o = argument;

	beside_stay_on(o->cpu);
	for (unsigned turn = 1;; turn++) {
		while (__atomic_load_n(&o->told, __ATOMIC_ACQUIRE) != turn)
			;
		if (!o->task)
			return NULL;
		o->task(o->about);
		__atomic_store_n(&o->done, turn, __ATOMIC_RELEASE);
	}
}

static void begin(struct owner *o, void (*task)(void *), void *about)
{
	o->task = task;
	o->about = about;
	__atomic_store_n(&o->told, o->told + 1, __ATOMIC_RELEASE);
}

static void await(const struct owner *o)
{
	while (__atomic_load_n(&o->done, __ATOMIC_ACQUIRE) != o->told)
		;
}

static void tell(struct owner *o, void (*task)(void *), void *about)
{
	begin(o, task, about);
	await(o);
}

/* --- a case --- */

struct what {
	const char *name;
	enum state state;
	bool stores, memset;
	stream_fill *fill; /* of a stream */
	size_t lines;
};

struct sides {
	const struct what *what;
	struct owner *owner;
	char *base;
	size_t apart, line;
	/* of locus */
	struct lines lines;
	struct link *end;
	uint64_t laid;
	struct stream stream;
	/* the other's */
	uint32_t order[MOST];
};

/* --- locus, as its benchmark does it --- */

static void own_as_locus(void *about)
{
	struct sides *s = about;
	const enum state state = s->what->state;

	s->end = lines_lay(&s->lines, ++s->laid);
	if (state == STATE_MODIFIED)
		return;
	lines_flush(&s->lines);
	if (state != STATE_MEMORY)
		walk_load(lines_first(&s->lines), s->lines.n, NULL);
}

static double walk_as_locus(struct sides *s)
{
	walk *const kernel = s->what->stores ? walk_store : walk_load;
	double before;

	tell(s->owner, own_as_locus, s);
	if (s->what->state == STATE_BOTH)
		walk_load(lines_first(&s->lines), s->lines.n, NULL);
	before = clock_now();
	if (kernel(lines_first(&s->lines), s->lines.n, s->end) != s->end)
		wrong();
	return (clock_now() - before) / (double)s->lines.n;
}

static void write_as_locus(void *about)
{
	struct sides *s = about;

	stream_write(&s->stream, LAPS * STREAM_PARTS);
}

static double stream_as_locus(struct sides *s)
{
	double before;

	stream_restart(&s->stream);
	begin(s->owner, write_as_locus, s);
	before = clock_now();
	stream_read(&s->stream, LAPS * STREAM_PARTS);
	before = clock_now() - before;
	await(s->owner);
	if (s->stream.wrong)
		wrong();
	return before * (double)s->line / (double)(LAPS * STREAM_PARTS * s->stream.part);
}

/* --- the other --- */

enum { MIDDLE = 32 };

static volatile uint32_t *word(const struct sides *s, uint32_t i)
{
	return (volatile uint32_t *)(s->base + i * s->apart + MIDDLE);
}

static uint64_t xorshift(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

/* order[i]: the line after line i; one cycle through all. */
static void shuffle(uint32_t *order, size_t n)
{
	uint64_t random = UINT64_C(88172645463325252);

	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	for (size_t i = n - 1; i > 0; i--) {
		const size_t j = xorshift(&random) % i;
		const uint32_t spare = order[i];

		order[i] = order[j];
		order[j] = spare;
	}
}

static void flush_line(volatile void *line)
{
#if defined(__x86_64__)
	__asm__ volatile("clflush (%0)" : : "r"(line) : "memory");
#elif defined(__aarch64__)
	__asm__ volatile("dc civac, %0" : : "r"(line) : "memory");
#else
	(void)line;
#endif
}

static void own_as_other(void *about)
{
	struct sides *s = about;
	const enum state state = s->what->state;
	const uint32_t n = (uint32_t)s->what->lines;

	for (uint32_t i = 0; i < n; i++)
		*word(s, i) = s->order[i];
	__sync_synchronize();
	if (state == STATE_MODIFIED)
		return;
	for (uint32_t i = 0; i < n; i++)
		flush_line(word(s, i));
	__sync_synchronize();
	for (uint32_t i = 0, n_read = state == STATE_MEMORY ? 0 : n; i < n_read; i++)
		(void)*word(s, s->order[i]);
}

static __attribute__((noinline)) uint32_t follow(const struct sides *s, uint32_t i, size_t n)
{
	for (; n; n -= 4) {
		i = *word(s, i);
		i = *word(s, i);
		i = *word(s, i);
		i = *word(s, i);
	}
	return i;
}

static __attribute__((noinline)) uint32_t replace(const struct sides *s, uint32_t i, size_t n)
{
	for (; n; n--) {
#if defined(__x86_64__)
		uint32_t old = UINT32_MAX;

		__asm__ volatile("xchg %0, %1" : "+r"(old), "+m"(*word(s, i)) : : "memory");
		i = old;
#else
		i = __sync_lock_test_and_set(word(s, i), UINT32_MAX);
#endif
	}
	return i;
}

static double walk_as_other(struct sides *s)
{
	const size_t n = s->what->lines;
	double before;

	tell(s->owner, own_as_other, s);
	if (s->what->state == STATE_BOTH)
		follow(s, 0, n);
	before = clock_now();
	if ((s->what->stores ? replace : follow)(s, 0, n) != 0)
		wrong();
	return (clock_now() - before) / (double)n;
}

/* 1: the reader has yet to read this part; each on lines of its own */
static struct {
	_Alignas(256) int full;
} flag[STREAM_PARTS];

static __attribute__((noinline)) void set_words(uint64_t *words, size_t bytes, uint64_t byte)
{
	const uint64_t word = byte * UINT64_C(0x0101010101010101);

#ifdef __x86_64__
	for (__m128i *at = (__m128i *)words, *end = at + bytes / sizeof(*at); at < end; at += 4)
		for (unsigned i = 0; i < 4; i++)
			_mm_store_si128(at + i, _mm_set1_epi64x((long long)word));
#else
	for (size_t i = 0; i < bytes / sizeof(*words); i++)
		((volatile uint64_t *)words)[i] = word;
#endif
}

static void write_as_other(void *about)
{
	struct sides *s = about;
	const size_t part = s->stream.part;

	for (unsigned i = 0; i < LAPS * STREAM_PARTS; i++) {
		int *full = &flag[i % STREAM_PARTS].full;

		while (__atomic_load_n(full, __ATOMIC_ACQUIRE))
			;
		if (s->what->memset)
			memset(s->base + i % STREAM_PARTS * part, (int)(i & 127), part);
		else
			set_words((uint64_t *)(s->base + i % STREAM_PARTS * part), part, i & 127);
		__atomic_store_n(full, 1, __ATOMIC_RELEASE);
	}
}

static __attribute__((noinline)) uint64_t sum_of(const uint64_t *words, size_t n)
{
#ifdef __x86_64__
	uint64_t both[2];
	const __m128i *at = (const __m128i *)words, *end = (const __m128i *)(words + n);
	__m128i a = _mm_setzero_si128(), b = a, c = a, d = a;

	for (; at < end; at += 4) {
		a = _mm_add_epi64(a, at[0]);
		b = _mm_add_epi64(b, at[1]);
		c = _mm_add_epi64(c, at[2]);
		d = _mm_add_epi64(d, at[3]);
	}
	a = _mm_add_epi64(_mm_add_epi64(a, b), _mm_add_epi64(c, d));
	_mm_storeu_si128((__m128i *)both, a);
	return both[0] + both[1];
#else
	uint64_t sum[2] = { 0 };

	for (size_t i = 0; i < n; i += 2) {
		sum[0] += words[i];
		sum[1] += words[i + 1];
	}
	return sum[0] + sum[1];
#endif
}

static double stream_as_other(struct sides *s)
{
	const size_t part = s->stream.part, words = part / sizeof(uint64_t);
	double before;

	begin(s->owner, write_as_other, s);
	before = clock_now();
	for (unsigned i = 0; i < LAPS * STREAM_PARTS; i++) {
		int *full = &flag[i % STREAM_PARTS].full;

		while (!__atomic_load_n(full, __ATOMIC_ACQUIRE))
			;
		if (sum_of((const uint64_t *)(s->base + i % STREAM_PARTS * part), words) !=
		    words * ((i & 127) * UINT64_C(0x0101010101010101)))
			wrong();
		__atomic_store_n(full, 0, __ATOMIC_RELEASE);
	}
	before = clock_now() - before;
	await(s->owner);
	return before * (double)s->line / (double)(LAPS * STREAM_PARTS * part);
}

/* --- side by side --- */

/* Disturbances only add time: the first decile counts. */
static double undisturbed(double (*one)(struct sides *), struct sides *s)
{
	double sample[SAMPLES];

	for (unsigned i = 0; i < SAMPLES; i++)
		sample[i] = one(s);
	statistics_sort(sample, SAMPLES);
	return statistics_quantile(sample, SAMPLES, 0.1);
}

static int compare(const struct machine *m, struct owner *owner, const struct what *what,
		   unsigned pairs, bool *differ)
{
	static struct sides s;
	const size_t bytes = what->lines * machine_apart(m);
	struct arena *arena = arena_open(m);
	struct region *region = arena ? region_map(arena, "lines", bytes, PAGES_BASE) : NULL;
	double ours[pairs], theirs[pairs];
	char named[64];

	if (!region)
		return -1;
	s = (struct sides){ .what = what,
			    .owner = owner,
			    .apart = machine_apart(m),
			    .line = m->line,
			    .base = region_base(region) };
	memset(s.base, 0, bytes);
	s.lines = (struct lines){ s.base, what->lines, s.apart, 1 };
	s.stream.fill = what->fill;
	s.stream.buffer = s.base;
	s.stream.part = what->lines / STREAM_PARTS * m->line;
	shuffle(s.order, what->lines);
	for (unsigned i = 0; i < pairs; i++)
		for (unsigned turn = 0; turn < 2; turn++)
			if ((i + turn) % 2)
				ours[i] = undisturbed(what->fill ? stream_as_locus : walk_as_locus,
						      &s);
			else
				theirs[i] = undisturbed(
					what->fill ? stream_as_other : walk_as_other, &s);
	snprintf(named, sizeof(named), "%-18s %6zu lines", what->name, what->lines);
	print_beside(named, ours, theirs, pairs, LIMIT, differ);
	arena_close(arena);
	return 0;
}

static const struct what cases[] = {
	{ "load modified", STATE_MODIFIED, .lines = 256 },
	{ "load modified", STATE_MODIFIED, .lines = 16000 },
	{ "load exclusive", STATE_EXCLUSIVE, .lines = 2000 },
	{ "load memory", STATE_MEMORY, .lines = 4000 },
	{ "store modified", STATE_MODIFIED, .stores = true, .lines = 256 },
	{ "store modified", STATE_MODIFIED, .stores = true, .lines = 16000 },
	{ "store exclusive", STATE_EXCLUSIVE, .stores = true, .lines = 2000 },
	{ "stream of 16 bytes", .fill = stream_fill_baseline, .lines = 2000 },
	{ "stream of 16 bytes", .fill = stream_fill_baseline, .lines = 16000 },
	{ "memset", .fill = stream_fill_memset, .memset = true, .lines = 2000 },
	{ "memset", .fill = stream_fill_memset, .memset = true, .lines = 16000 },
};

int main(int argc, char **argv)
{
	struct beside_program program;
	const struct machine *m;
	unsigned pairs;
	struct owner owner = { .told = 0 };
	bool differ = false;

	if (!beside_begin(&program, argc, argv, "coherence",
			  "usage: coherence [PAIRS], from 6 to 1000"))
		return 2;
	m = program.machine;
	pairs = program.pairs;
	if (m->cores < 2) {
		printf("coherence: needs two cores\n");
		return 77;
	}
	owner.cpu = m->cpu[0].number;
	beside_stay_on(m->cpu[m->cpus - 1].number);
	if (pthread_create(&owner.thread, NULL, obey, &owner))
		return 2;
	printf("Walks of locus against others over the same lines, %u alternating pairs, CPU %d "
	       "takes lines from CPU %d\n",
	       pairs, m->cpu[m->cpus - 1].number, owner.cpu);
	printf("%-31s  %11s  %11s  %6s  95 %% interval\n", "lines", "locus", "other", "ratio");
	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if ((cases[i].state == STATE_MODIFIED || lines_can_flush()) &&
		    compare(m, &owner, &cases[i], pairs, &differ)) {
			fprintf(stderr, "coherence: no memory for %zu lines\n", cases[i].lines);
			return 1;
		}
	begin(&owner, NULL, NULL);
	pthread_join(owner.thread, NULL);
	beside_end(&program);
	return differ;
}
