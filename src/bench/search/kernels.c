/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "bench/search/kernels.h"
#include "machine/clock.h"
#include "machine/opaque.h"

/* Asks for a conditional move: to predict it would be right every other time. */
#if __has_builtin(__builtin_unpredictable)
#define UNPREDICTABLE(condition) __builtin_unpredictable(condition)
#else
#define UNPREDICTABLE(condition) __builtin_expect_with_probability(condition, 1, 0.5)
#endif

/* The clock is read only where time is lost already. */
static struct packet *await_room(struct dealer *d, struct ring *r)
{
	const uint64_t begin = clock_ticks();
	struct packet *p;

	for (unsigned turn = 0; !(p = ring_room(r)); turn++)
		relax(turn, RING_SPINS);
	d->held += clock_ticks() - begin;
	return p;
}

static inline struct packet *open_packet(struct dealer *d, struct outlet *o)
{
	if (o->open)
		return o->open;
	o->open = ring_room(o->ring);
	if (!o->open)
		o->open = await_room(d, o->ring);
	o->open->keys = 0;
	return o->open;
}

static inline void send_packet(struct outlet *o)
{
	o->open = NULL;
	ring_put(o->ring);
}

void deal_in_turn(struct dealer *d)
{
	struct outlet *o = &d->outlet[d->next];
	struct stream *s = d->stream;
	struct packet *p = open_packet(d, o);

	memcpy(p->key, stream_next(s), (size_t)s->packet * s->width);
	p->keys = s->packet;
	send_packet(o);
	d->next = d->next + 1 == d->outlets ? 0 : d->next + 1;
	stream_go_on(s, 1);
}

void deal_rest(struct dealer *d)
{
	for (unsigned i = 0; i < d->outlets; i++)
		if (d->outlet[i].open)
			send_packet(&d->outlet[i]);
}

#define KEY uint32_t
#define NAME(function) function##_32
#include "bench/search/widths.h"

#define KEY uint64_t
#define NAME(function) function##_64
#include "bench/search/widths.h"
