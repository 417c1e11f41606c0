/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/search/searcher.h"

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
		timesheet_packet(&s->timesheet, ticks);
}
