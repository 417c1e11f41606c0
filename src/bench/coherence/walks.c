/* SPDX-License-Identifier: Apache-2.0 */
#include "base/flush.h"
#include "bench/coherence/walks.h"
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
	flush_wait(); /* a store that still waits would bring its line back */
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
