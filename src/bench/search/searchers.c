/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "bench/search/searchers.h"
#include "machine/clock.h"

uint64_t searcher_begin(struct searcher *s)
{
	s->timesheet = (struct timesheet){ .began = clock_ticks() };
	if (s->times)
		histogram_clear(s->times);
	return s->timesheet.began;
}

static void note_packet(struct searcher *s, double ticks)
{
	s->timesheet.packets++;
	s->timesheet.ticks += ticks;
	s->timesheet.squares += ticks * ticks;
	histogram_add(s->times, ticks);
}

void searcher_note(struct searcher *s, const void *keys, size_t n, uint32_t packet, uint64_t ticks)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += s->answers[i];
	s->sum += sum;
	s->keys += n;
	s->last = keys;
	s->last_keys = n;
	s->timesheet.keys += n;
	s->timesheet.searching += ticks;
	if (n == packet)
		note_packet(s, (double)ticks);
}

struct packet_times packet_times(const struct searcher *searcher, const double *s_per_tick,
				 unsigned n, struct histogram *all)
{
	double packets = 0, sum = 0, squares = 0, mean;

	histogram_clear(all);
	for (unsigned i = 0; i < n; i++) {
		const struct timesheet *one = &searcher[i].timesheet;

		packets += (double)one->packets;
		sum += one->ticks * s_per_tick[i];
		squares += one->squares * s_per_tick[i] * s_per_tick[i];
		histogram_merge(all, searcher[i].times, s_per_tick[i]);
	}
	mean = sum / packets;
	return (struct packet_times){
		.p99 = histogram_quantile(all, 0.99),
		/* rounding may make the variance of equal times negative */
		.deviation = packets > 0 ? sqrt(fmax(0, squares / packets - mean * mean)) : NAN,
	};
}

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

static void refill(void *partitioned, struct worker *self)
{
	struct partitioned *p = partitioned;
	struct stream *stream = &p->stream[self->index];

	memcpy(p->blocks + self->index * p->stride, stream_next(stream),
	       (size_t)p->packets * stream->packet * stream->width);
	stream_go_on(stream, p->packets);
}

void partitioned_reset(struct partitioned *p)
{
	team_run(p->team, refill, p);
}

/*
 * Searches for n keys, packet by packet; the last packet may be smaller. Packets of a tree are
 * timed many at once.
 */
static void search_keys(struct partitioned *p, unsigned me, const unsigned char *keys, size_t n)
{
	const struct part *part = &p->part[me];
	const uint32_t packet = p->stream->packet;
	const size_t timed = p->tree_search ? (size_t)packet * packets_timed(packet) : packet;
	struct searcher *s = &p->searcher[me];

	for (size_t at = 0, count; at < n; at += count) {
		const unsigned char *from = keys + at * p->stream->width;
		uint64_t began;

		count = n - at < timed ? n - at : timed;
		began = clock_ticks();
		if (p->tree_search)
			p->tree_search(s->tree, from, count, packet, s->answers);
		else
			p->search(part->array, part->n, part->first, from, count, s->answers);
		searcher_note(s, from, count, p->tree_search ? 0 : packet, clock_ticks() - began);
	}
}

void partitioned_search(struct partitioned *p, struct worker *self)
{
	const unsigned me = self->index, threads = self->threads, width = p->stream->width;
	struct searcher *s = &p->searcher[me];
	const size_t cuts = 2 * ((size_t)threads + 1);
	uint32_t *own = p->cuts + me * cuts;

	searcher_begin(s);
	s->last = NULL; /* the keys of its last packet were overwritten */
	p->partition(p->blocks + me * p->stride, (size_t)p->packets * p->stream->packet, p->ranges,
		     own, own + threads + 1);
	team_barrier(p->team);
	s->timesheet.partitioning = clock_ticks() - s->timesheet.began;
	for (unsigned i = 0; i < threads; i++) {
		/* each thread starts with its own block, so no two start with the same */
		const unsigned from = me + i < threads ? me + i : me + i - threads;
		const uint32_t *range = p->cuts + from * cuts + me;

		search_keys(p, me, p->blocks + from * p->stride + (size_t)range[0] * width,
			    range[1] - range[0]);
	}
	s->timesheet.ended = clock_ticks();
	self->done = p->packets;
}

void best_search(struct searcher *s, tree_search *search, struct stream *stream, uint64_t packets)
{
	searcher_begin(s);
	for (uint32_t n; packets; packets -= n) {
		const void *keys = stream_next(stream);
		const uint64_t began = clock_ticks(),
			       left = (stream->keys - stream->at) / stream->packet,
			       most = packets_timed(stream->packet);

		n = (uint32_t)(packets < left ? packets : left);
		n = n < most ? n : (uint32_t)most;
		search(s->tree, keys, (size_t)n * stream->packet, stream->packet, s->answers);
		searcher_note(s, keys, (size_t)n * stream->packet, 0, clock_ticks() - began);
		stream_go_on(stream, n);
	}
	s->timesheet.ended = clock_ticks();
}
