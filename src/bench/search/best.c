/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/search/best.h"
#include "machine/clock.h"

/* Looks up n packets, which lie one after the other. */
static void search_packets(const struct searcher *s, tree_search *search,
			   const struct stream *stream, uint32_t n)
{
	const unsigned char *keys = stream_next(stream);
	const size_t bytes = (size_t)stream->packet * stream->width;

	for (uint32_t i = 0; i < n; i++)
		search(s->tree, keys + i * bytes, stream->packet,
		       s->answers + (size_t)i * stream->packet);
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
		search_packets(s, search, stream, n);
		searcher_note(s, keys, (size_t)n * stream->packet, 0, clock_ticks() - began);
		stream_go_on(stream, n);
	}
	s->timesheet.ended = clock_ticks();
}
