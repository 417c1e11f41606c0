/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/relax.h"
#include "base/sysfs.h"
#include "bench/core-to-core/core-to-core.h"
#include "kit/opaque.h"
#include "machine/clock.h"

/*
 * Failed looks after which a waiting side yields its CPU. There is no pause instruction between
 * looks: its latency would be part of the result.
 */
enum { LOOKS = 1 << 14 };

/* To be called after each failed look. */
static inline void look_again(unsigned *looks)
{
	if (++*looks % LOOKS == 0)
		cpu_yield();
}

static inline void await(_Atomic uint64_t *word, uint64_t value)
{
	for (unsigned looks = 0; atomic_load_explicit(word, memory_order_acquire) != value;)
		look_again(&looks);
}

__attribute__((noinline)) void exchange_compare_exchange(struct lines *l, unsigned side,
							 uint64_t turns)
{
	_Atomic uint64_t *word = &l->line[0].word;

	for (; turns; turns--) {
		unsigned looks = 0;

		for (uint64_t mine = side; !atomic_compare_exchange_weak(word, &mine, !side);
		     mine = side)
			look_again(&looks);
	}
}

__attribute__((noinline)) void exchange_store_load(struct lines *l, unsigned side, uint64_t turns)
{
	_Atomic uint64_t *word = &l->line[0].word;

	for (; turns; turns--) {
		await(word, side);
		atomic_store_explicit(word, !side, memory_order_release);
	}
	if (side == 0) /* the last transfer, back to side 0 */
		await(word, 0);
}

__attribute__((noinline)) void exchange_two_lines(struct lines *l, unsigned side, uint64_t turns)
{
	_Atomic uint64_t *mine = &l->line[side].word, *other = &l->line[!side].word;

	for (uint64_t i = 1; i <= turns; i++) {
		if (side)
			await(other, i & 1);
		atomic_store_explicit(mine, i & 1, memory_order_release);
		if (!side)
			await(other, i & 1);
	}
}

static void send(struct lines *l, uint64_t lines)
{
	for (uint64_t i = 0; i < lines; i++) {
		struct line *line = &l->line[i % RING];
		unsigned looks = 0;

		while (i - atomic_load_explicit(&l->taken, memory_order_acquire) >= RING)
			look_again(&looks);
		for (unsigned j = 0; j < 7; j++)
			line->payload[j] = i;
		atomic_store_explicit(&line->word, !(i / RING % 2), memory_order_release);
	}
}

static void receive(struct lines *l, uint64_t lines)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < lines; i++) {
		struct line *line = &l->line[i % RING];

		await(&line->word, !(i / RING % 2));
		for (unsigned j = 0; j < 7; j++)
			sum += line->payload[j];
		if (i % (RING / 2) == RING / 2 - 1)
			atomic_store_explicit(&l->taken, i + 1, memory_order_release);
	}
	OPAQUE(sum);
	atomic_store_explicit(&l->taken, 0, memory_order_release);
}

__attribute__((noinline)) void exchange_message(struct lines *l, unsigned side, uint64_t turns)
{
	if (side == 0)
		send(l, 2 * turns);
	else
		receive(l, 2 * turns);
}

/* A stamp is the ticks and, as the lowest bit, whether its turn is odd. */
static inline __attribute__((always_inline)) void receive_stamp(const _Atomic uint64_t *word,
								uint64_t odd, struct stamps *s)
{
	unsigned looks = 0;
	uint64_t stamp;
	int64_t took;

	while (((stamp = atomic_load_explicit(word, memory_order_acquire)) & 1) != odd)
		look_again(&looks);
	took = (int64_t)(clock_ticks_now() - (stamp >> 1));
	s->took[s->n++ % STAMPS] = took;
	s->least = took < s->least ? took : s->least;
}

__attribute__((noinline)) void exchange_stamps(struct lines *l, unsigned side, uint64_t turns,
					       struct stamps *s)
{
	_Atomic uint64_t *mine = &l->line[side].word, *other = &l->line[!side].word;

	s->n = 0;
	s->least = INT64_MAX;
	for (uint64_t i = 1; i <= turns; i++) {
		const uint64_t odd = i & 1;

		if (side)
			receive_stamp(other, odd, s);
		atomic_store_explicit(mine, clock_ticks_now() << 1 | odd, memory_order_release);
		if (!side)
			receive_stamp(other, odd, s);
	}
}

static void add(const struct stamps *s, double skew, struct histogram *h)
{
	for (uint64_t i = 0; i < s->n && i < STAMPS; i++)
		histogram_add(h, (double)s->took[i] - skew);
}

bool one_way_add(const struct stamps side[2], struct histogram *h, double *bound)
{
	/* side 1 receives what side 0 sent: its times include the skew of side 1's counter */
	const double there = (double)side[1].least, back = (double)side[0].least,
		     skew = (there - back) / 2;

	if (!side[0].n || !side[1].n || there + back <= 0)
		return false;
	add(&side[1], skew, h);
	add(&side[0], -skew, h);
	*bound = (there + back) / 2;
	return true;
}

#ifdef __x86_64__
/* The kernel compares the counters of all CPUs, and no longer offers them once they differed. */
const char *one_way_lacks_at(const char *root)
{
	static const char path[] =
		"/sys/devices/system/clocksource/clocksource0/available_clocksource";
	char *offered = sysfs_line(root, "%s", path), *rest = NULL;
	bool found = false;

	for (char *word = offered ? strtok_r(offered, " ", &rest) : NULL; word;
	     word = strtok_r(NULL, " ", &rest))
		found |= !strcmp(word, "tsc");
	free(offered);
	return found ? NULL
		     : "the kernel does not offer the CPUs' tick counters as one clock (tsc)";
}
#elif defined(__aarch64__)
/* The architecture has one counter for all CPUs. */
const char *one_way_lacks_at(const char *root)
{
	(void)root;
	return NULL;
}
#else
const char *one_way_lacks_at(const char *root)
{
	(void)root;
	return "no tick counter is known for this processor that all CPUs share";
}
#endif

const char *one_way_lacks(void)
{
	return one_way_lacks_at(SYSFS_ROOT);
}
