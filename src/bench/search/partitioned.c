/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "bench/search/best.h"
#include "bench/search/partitioned.h"
#include "machine/clock.h"

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
