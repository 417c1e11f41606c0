/* SPDX-License-Identifier: Apache-2.0 */
/* What a searcher did in a sample, in ticks of its CPU's counter. Written by the searcher alone. */
#ifndef LOCUS_SEARCH_TIMESHEET_H
#define LOCUS_SEARCH_TIMESHEET_H

#include <stddef.h>
#include <stdint.h>

/* Every 2^k-th packet's time is kept; when full, every other one is dropped, and k grows. */
enum { KEPT = 512 };

struct timesheet {
	uint64_t began, ended;			   /* clock_ticks() */
	uint64_t searching, waiting, partitioning; /* ticks */
	uint64_t keys, packets;			   /* packets: whole ones */
	unsigned kept, every;			   /* every: 2^k - 1 */
	/* ticks, at most UINT32_MAX */
	uint32_t time[KEPT];
};

static inline void timesheet_halve(struct timesheet *t)
{
	for (size_t i = 0; i < KEPT / 2; i++)
		t->time[i] = t->time[2 * i];
	t->kept = KEPT / 2;
	t->every = 2 * t->every + 1;
}

/*
 * Records the time of a whole packet. When full, its number is a multiple of twice the step, so
 * that it is kept also after halving.
 */
static inline void timesheet_packet(struct timesheet *t, uint64_t ticks)
{
	if (t->packets++ & t->every)
		return;
	if (t->kept == KEPT)
		timesheet_halve(t);
	t->time[t->kept++] = ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX;
}

/*
 * s, over all packets of some searchers; the times kept of a searcher are weighted by its number of
 * packets. NAN: no packets, or ENOMEM.
 */
struct packet_times {
	double median, p99, deviation;
};

/* Timesheet i's ticks are s_per_tick[i] each. */
struct packet_times timesheet_times(const struct timesheet *const *, const double *s_per_tick,
				    unsigned timesheets);

#endif
