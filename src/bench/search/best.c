/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/search/best.h"
#include "machine/clock.h"

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
