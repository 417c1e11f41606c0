/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "bench/search/searcher.h"
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
