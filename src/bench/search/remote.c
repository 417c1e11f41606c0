/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/search/remote.h"
#include "base/arithmetic.h"
#include "kit/carve.h"
#include "kit/shares.h"
#include "machine/clock.h"

enum {
	MOST_PACKETS = 64,    /* most packets of a thread in a round: some 100 us of search */
	MOST_ROOM = 64 << 20, /* bytes for the keys that others send in a round */
	/* some 30 us of search, after which MPI gets a chance to move messages */
	KEYS_AT_ONCE = 10000,
};

/* ---- memory ---- */

uint32_t remote_packets(unsigned ranks, unsigned threads, uint32_t packet, unsigned width)
{
	const size_t packets = MOST_ROOM / ((size_t)ranks * threads * packet * width);

	return packets > MOST_PACKETS ? MOST_PACKETS : packets ? (uint32_t)packets : 1;
}

static struct remote_round round_in(struct carver *c, unsigned ranks, size_t keys, unsigned width)
{
	return (struct remote_round){
		.keys = carve(c, ranks * sizeof(struct piece)),
		.asked = carve(c, ranks * sizeof(struct piece)),
		.found = carve(c, ranks * sizeof(struct piece)),
		.answers = carve(c, ranks * sizeof(struct piece)),
		.room_for_keys = carve(c, keys * width),
		.room_for_asked = carve(c, ranks * keys * width),
		.room_for_found = carve(c, ranks * keys * sizeof(uint32_t)),
		.room_for_answers = carve(c, keys * sizeof(uint32_t)),
	};
}

static struct remote_own own_in(struct carver *c, unsigned ranks, size_t keys)
{
	return (struct remote_own){
		.owner = carve(c, keys * sizeof(uint32_t)),
		.count = carve(c, ranks * sizeof(size_t)),
		.next = carve(c, ranks * sizeof(size_t)),
	};
}

size_t remote_bytes(unsigned ranks, unsigned threads, uint32_t packet, unsigned width)
{
	const size_t block = (size_t)remote_packets(ranks, threads, packet, width) * packet;
	struct carver c = { NULL, 0 };

	for (unsigned i = 0; i < ROUNDS_AT_ONCE; i++)
		round_in(&c, ranks, block * threads, width);
	carve(&c, threads * sizeof(struct remote_own));
	for (unsigned i = 0; i < threads; i++)
		own_in(&c, ranks, block);
	return c.used;
}

void remote_open(struct remote *r, void *memory)
{
	const uint32_t packet = r->stream->packet;
	const unsigned width = r->stream->width;
	struct carver c = { memory, 0 };
	size_t block;

	r->sent = 0;
	r->packets = remote_packets(ranks_of(r->ranks), r->threads, packet, width);
	block = (size_t)r->packets * packet;
	for (unsigned i = 0; i < ROUNDS_AT_ONCE; i++)
		r->round[i] = round_in(&c, ranks_of(r->ranks), block * r->threads, width);
	r->own = carve(&c, r->threads * sizeof(*r->own));
	for (unsigned i = 0; i < r->threads; i++)
		r->own[i] = own_in(&c, ranks_of(r->ranks), block);
}

/* ---- a round ---- */

static struct remote_round *round_at(struct remote *r, uint64_t number)
{
	return &r->round[number % ROUNDS_AT_ONCE];
}

/* Finds and counts the owners of a thread's next packets, which stay in its stream. */
static void count(struct remote *r, unsigned me, uint64_t packets)
{
	struct stream stream = r->stream[me];
	const struct remote_own *own = &r->own[me];

	memset(own->count, 0, ranks_of(r->ranks) * sizeof(*own->count));
	for (uint64_t i = 0; i < packets; i++) {
		r->find_owners(stream_next(&stream), stream.packet, r->ranges,
			       own->owner + i * stream.packet, own->count);
		stream_go_on(&stream, 1);
	}
}

/*
 * Copies the keys of these packets into the messages, owner by owner, beside the other threads'
 * keys; thread 0 describes the messages.
 */
static void gather(struct remote *r, unsigned me, uint64_t packets, struct remote_round *to)
{
	const unsigned width = r->stream->width;
	struct stream *stream = &r->stream[me];
	struct remote_own *own = &r->own[me];
	size_t at = 0;

	for (unsigned rank = 0; rank < ranks_of(r->ranks); rank++) {
		const size_t begin = at;

		for (unsigned i = 0; i < r->threads; i++) {
			if (i == me)
				own->next[rank] = at;
			at += r->own[i].count[rank];
		}
		if (me == 0) {
			to->keys[rank] = (struct piece){ to->room_for_keys + begin * width,
							 (at - begin) * width };
			to->answers[rank] =
				(struct piece){ to->room_for_answers + begin * sizeof(uint32_t),
						(at - begin) * sizeof(uint32_t) };
		}
	}
	if (me == 0)
		to->count = at;
	for (uint64_t i = 0; i < packets; i++) {
		r->hand_out(stream_next(stream), stream->packet, own->owner + i * stream->packet,
			    to->room_for_keys, own->next);
		stream_go_on(stream, 1);
	}
}

static void *begin(struct remote *r, const struct piece *out, struct piece *in)
{
	for (unsigned rank = 0; rank < ranks_of(r->ranks); rank++)
		r->sent += rank == rank_of(r->ranks) ? 0 : out[rank].size;
	return r->ranks ? r->ranks->begin(out, in) : NULL;
}

static void finish(struct remote *r, void *exchange)
{
	if (r->ranks)
		r->ranks->finish(exchange);
}

static void ask(struct remote *r, struct remote_round *of)
{
	const size_t room = (size_t)r->packets * r->stream->packet * r->threads * r->stream->width;

	for (unsigned rank = 0; rank < ranks_of(r->ranks); rank++)
		of->asked[rank] = (struct piece){ of->room_for_asked + rank * room, room };
	of->asked[rank_of(r->ranks)] = of->keys[rank_of(r->ranks)];
	of->asking = begin(r, of->keys, of->asked);
}

static void get_asked(struct remote *r, struct remote_round *of)
{
	const unsigned width = r->stream->width;
	const size_t room = (size_t)r->packets * r->stream->packet * r->threads * sizeof(uint32_t);

	finish(r, of->asking);
	for (unsigned rank = 0; rank < ranks_of(r->ranks); rank++)
		of->found[rank] = (struct piece){ of->room_for_found + rank * room,
						  of->asked[rank].size / width * sizeof(uint32_t) };
	of->found[rank_of(r->ranks)] = of->answers[rank_of(r->ranks)];
}

/* Looks up a thread's share of the keys received. */
static void look(struct remote *r, struct worker *self, struct remote_round *of)
{
	const unsigned width = r->stream->width;
	const uint32_t first = (uint32_t)r->ranges->begin[rank_of(r->ranks)];
	struct timesheet *timesheet = &r->searcher[self->index].timesheet;

	for (unsigned rank = 0; rank < ranks_of(r->ranks); rank++) {
		const size_t n = of->asked[rank].size / width,
			     to = share_begin(n, self->index + 1, r->threads);

		for (size_t at = share_begin(n, self->index, r->threads), keys; at < to;
		     at += keys) {
			uint32_t *found = (uint32_t *)of->found[rank].bytes + at;
			const uint64_t began = clock_ticks();

			keys = smaller(to - at, KEYS_AT_ONCE);
			r->search(r->tree, (unsigned char *)of->asked[rank].bytes + at * width,
				  keys, r->stream->packet, found);
			for (size_t i = 0; i < keys; i++)
				found[i] += first;
			timesheet->searching += clock_ticks() - began;
			timesheet->keys += keys;
			if (r->ranks && self->index == 0)
				r->ranks->progress();
		}
	}
}

/* Adds up a thread's share of the answers to our keys. */
static void add_up(struct remote *r, struct worker *self, struct remote_round *of)
{
	struct searcher *s = &r->searcher[self->index];
	const size_t from = share_begin(of->count, self->index, r->threads),
		     to = share_begin(of->count, self->index + 1, r->threads);
	uint64_t sum = 0;

	s->answers = (uint32_t *)of->room_for_answers + from;
	s->last = of->room_for_keys + from * r->stream->width;
	s->last_keys = to - from;
	for (size_t i = 0; i < to - from; i++)
		sum += s->answers[i];
	s->sum += sum;
	s->keys += to - from;
}

void remote_search(struct remote *r, struct worker *self, uint64_t packets)
{
	const uint64_t rounds = (packets + r->packets - 1) / r->packets;
	struct timesheet *timesheet = &r->searcher[self->index].timesheet;
	const bool speaks = self->index == 0;

	searcher_begin(&r->searcher[self->index]);
	for (uint64_t n = 0; n < rounds + ROUNDS_AT_ONCE - 1; n++) {
		struct remote_round *new = n < rounds ? round_at(r, n) : NULL;
		struct remote_round *under_way =
			n >= BEHIND && n - BEHIND < rounds ? round_at(r, n - BEHIND) : NULL;
		struct remote_round *old =
			n >= ROUNDS_AT_ONCE - 1 ? round_at(r, n - (ROUNDS_AT_ONCE - 1)) : NULL;
		const uint64_t taken = new ? smaller(packets - n * r->packets, r->packets) : 0;

		if (new)
			count(r, self->index, taken);
		team_barrier(r->team);
		if (new)
			gather(r, self->index, taken, new);
		team_barrier(r->team);
		if (speaks && new)
			ask(r, new);
		if (speaks && under_way)
			get_asked(r, under_way);
		team_barrier(r->team);
		if (under_way)
			look(r, self, under_way);
		team_barrier(r->team);
		if (speaks && under_way)
			under_way->answering = begin(r, under_way->found, under_way->answers);
		if (speaks && old)
			finish(r, old->answering);
		team_barrier(r->team);
		if (old)
			add_up(r, self, old);
	}
	timesheet->ended = clock_ticks();
}

uint64_t remote_carry(struct remote *r)
{
	uint64_t keys = 0;

	for (unsigned i = 0; i < ROUNDS_AT_ONCE; i++) {
		struct remote_round *of = &r->round[i];

		if (!of->count)
			continue;
		of->asking = begin(r, of->keys, of->asked);
		of->answering = begin(r, of->found, of->answers);
		keys += of->count;
	}
	for (unsigned i = 0; i < ROUNDS_AT_ONCE; i++)
		if (r->round[i].count) {
			finish(r, r->round[i].asking);
			finish(r, r->round[i].answering);
		}
	return keys;
}
