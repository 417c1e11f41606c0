/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "bench/search/kernels.h"
#include "machine/clock.h"
#include "kit/opaque.h"

/*
 * at = next if probe < key, by a conditional move. In assembly, because gcc 12 and clang 14 compile
 * a conditional expression to a branch.
 */
#if defined(__x86_64__)
#define MOVE_IF_LESS(at, next, probe, key) \
	__asm__("cmp %2, %1\n\tcmovb %3, %0" : "+r"(at) : "rm"(probe), "r"(key), "r"(next) : "cc")
#elif defined(__aarch64__)
#define MOVE_IF_LESS(at, next, probe, key)                                  \
	__asm__("cmp %" REGISTER "1, %" REGISTER "2\n\tcsel %0, %3, %0, lo" \
		: "+r"(at)                                                  \
		: "r"(probe), "r"(key), "r"(next)                           \
		: "cc")
#else
#define MOVE_IF_LESS(at, next, probe, key) ((at) = (probe) < (key) ? (next) : (at))
#endif

/* The slow path of open_packet(), where the ring is full. Only it reads the clock. */
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

#define KEY	       uint32_t
#define WIDER	       uint64_t
#define REGISTER       "w"
#define NAME(function) function##_32
#include "bench/search/widths.h"

#define KEY	       uint64_t
#define WIDER	       unsigned __int128
#define REGISTER       "x"
#define NAME(function) function##_64
#include "bench/search/widths.h"
