/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/search/flow.h"
#include "machine/clock.h"

void flow_reset(struct flow *f)
{
	atomic_store_explicit(&f->closed, false, memory_order_relaxed);
	atomic_store_explicit(&f->finished, 0, memory_order_relaxed);
}

uint64_t flow_deal(struct flow *f, const _Atomic bool *stop)
{
	struct dealer *d = &f->dealer;
	deal *deal = f->deal;
	uint64_t dealt = 0;

	d->held = 0;
	f->began = clock_ticks();
	do {
		deal(d);
		dealt++;
	} while (!atomic_load_explicit(stop, memory_order_relaxed));
	deal_rest(d);
	f->ended = clock_ticks();
	atomic_store_explicit(&f->closed, true, memory_order_release);
	for (unsigned turn = 0;
	     atomic_load_explicit(&f->finished, memory_order_acquire) != f->searchers; turn++)
		relax(turn, RING_SPINS);
	return dealt;
}

/* Asking for the next packet returns the previous one to the producer. */
const struct packet *take_own(struct flow *f, unsigned me, unsigned *owner)
{
	struct searcher *s = &f->searcher[me];
	const struct packet *p;

	if (s->holding)
		ring_took(s->ring);
	p = ring_first(s->ring);
	s->holding = p;
	*owner = me;
	return p;
}

const struct packet *take_any(struct flow *f, unsigned me, unsigned *owner)
{
	struct packet *copy = f->searcher[me].copy;

	for (unsigned i = 0; i < f->searchers; i++) {
		*owner = me + i < f->searchers ? me + i : me + i - f->searchers;
		if (ring_take_shared(f->searcher[*owner].ring, copy))
			return copy;
	}
	return NULL;
}

void flow_search(struct flow *f, unsigned me)
{
	const uint32_t packet = f->dealer.stream->packet;
	struct searcher *s = &f->searcher[me];
	search *search = f->search;
	take *take = f->take;
	unsigned turn = 0, owner;
	uint64_t began, ended = searcher_begin(s);

	for (;;) {
		/* read before the ring: if closed, an empty ring stays empty */
		const bool closed = atomic_load_explicit(&f->closed, memory_order_acquire);
		const struct packet *p = take(f, me, &owner);

		if (!p && closed)
			break;
		if (!p) {
			relax(turn++, RING_SPINS);
			continue;
		}
		began = clock_ticks();
		s->timesheet.waiting += turn ? began - ended : 0;
		turn = 0;
		search(f->part[owner].array, f->part[owner].n, f->part[owner].first, p->key,
		       p->keys, s->answers);
		ended = clock_ticks();
		searcher_note(s, p->key, p->keys, packet, ended - began);
	}
	s->timesheet.ended = clock_ticks();
	s->timesheet.waiting += s->timesheet.ended - ended;
	atomic_fetch_add_explicit(&f->finished, 1, memory_order_release);
}
