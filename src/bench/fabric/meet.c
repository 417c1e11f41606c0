/* SPDX-License-Identifier: Apache-2.0 */
/* Measures two ranks together; then the schedules: which ranks meet, and when. */
#include <math.h>

#include "base/statistics.h"
#include "base/text.h"
#include "bench/fabric/fabric.h"
#include "harness/plan/plan.h"
#include "kit/random.h"
#include "machine/clock.h"

static const char small[] = "a message of 8 bytes", large[] = "a large message";

/* --- what is sent --- */

/* The word with which a message begins; its lowest bit is free. */
static uint64_t payload_word(const struct fabric *s, unsigned from, unsigned to, uint64_t meeting,
			     uint64_t number)
{
	const uint64_t who = (uint64_t)from << 32 | to;

	return random_word(random_word(s->trial->seed ^ who, s->sample), meeting << 32 | number) &
	       ~UINT64_C(1);
}

void payload_fill(unsigned char *bytes, size_t size, uint64_t word)
{
	uint64_t *words = (uint64_t *)(void *)bytes;

	for (size_t i = 1; i < size / sizeof(*words); i++)
		words[i] = word + i * RANDOM_GOLDEN;
}

static bool payload_is(const unsigned char *bytes, size_t size, uint64_t word)
{
	const uint64_t *words = (const uint64_t *)(const void *)bytes;
	uint64_t differs = 0;

	for (size_t i = 1; i < size / sizeof(*words); i++)
		differs |= words[i] ^ (word + i * RANDOM_GOLDEN);
	return !differs;
}

static void payload_wrong(struct fabric *s, unsigned from, const char *which)
{
	if (!s->fault)
		s->fault = text_of("%s from rank %u is not what was sent", which, from);
}

/* The first rank sets this bit in the word of its last message. */
enum { LAST = 1 };

bool meet_is_here(const struct fabric *s, unsigned with)
{
	return s->several && with != s->ranks->rank && s->node[with] == s->node[s->ranks->rank];
}

/* The quantiles of one-way times. */
struct laps {
	double least, quarter, middle, tail; /* s */
};

/* Sorts them. */
static struct laps laps_of(double *lap, size_t n)
{
	if (!n)
		return (struct laps){ NAN, NAN, NAN, NAN };
	statistics_sort(lap, n);
	return (struct laps){ lap[0], statistics_quantile(lap, n, 0.25),
			      statistics_quantile(lap, n, 0.5), statistics_quantile(lap, n, 0.99) };
}

/* The measurement with another rank, without other streams. */
static struct meeting meeting_with(const struct fabric *s, unsigned with, struct laps laps,
				   double bandwidth)
{
	return (struct meeting){ .with = with,
				 .here = meet_is_here(s, with),
				 .latency = laps.quarter,
				 .tail = laps.tail,
				 .least = laps.least,
				 .bandwidth = bandwidth,
				 .loaded = NAN,
				 .factor = NAN,
				 .tail_factor = NAN };
}

/* --- there and back --- */

/* The first message is not timed: the other rank may come later. */
static struct laps begin_pings(struct fabric *s, unsigned with, uint64_t meeting)
{
	const unsigned own = s->ranks->rank;
	double began = 0;
	uint64_t last = 0;
	size_t n = 0;

	for (uint64_t i = 0; !last; i++) {
		const uint64_t word = payload_word(s, own, with, meeting, i),
			       answer = payload_word(s, with, own, meeting, i);
		uint64_t out, in = 0;
		double sent;

		last = i >= s->pings || (i >= LEAST_PINGS && clock_now() - began > PATIENCE);
		out = word | last;
		sent = clock_now();
		s->ranks->send(with, &out, sizeof(out));
		s->ranks->receive(with, &in, sizeof(in));
		if (i)
			s->lap[n++] = (clock_now() - sent) / 2;
		else
			began = clock_now();
		if (in != answer)
			payload_wrong(s, with, small);
	}
	return laps_of(s->lap, n);
}

static void answer_pings(struct fabric *s, unsigned with, uint64_t meeting)
{
	const unsigned own = s->ranks->rank;
	uint64_t in = 0;

	for (uint64_t i = 0; !(in & LAST); i++) {
		const uint64_t word = payload_word(s, with, own, meeting, i),
			       answer = payload_word(s, own, with, meeting, i);

		s->ranks->receive(with, &in, sizeof(in));
		s->ranks->send(with, &answer, sizeof(answer));
		if ((in & ~(uint64_t)LAST) != word)
			payload_wrong(s, with, small);
	}
}

/* 8 bytes there and back, again and again. The first rank returns the result, the other NAN. */
static struct laps meet_ping(struct fabric *s, unsigned with, bool first, uint64_t meeting)
{
	if (first)
		return begin_pings(s, with, meeting);
	answer_pings(s, with, meeting);
	return (struct laps){ NAN, NAN, NAN, NAN };
}

/* --- both ways at once --- */

static uint64_t *word_in(unsigned char *bytes)
{
	return (uint64_t *)(void *)bytes;
}

static void check_bulk(struct fabric *s, unsigned from, uint64_t meeting, uint64_t n)
{
	const uint64_t body = payload_word(s, from, s->ranks->rank, meeting, 0);

	for (uint64_t i = n < BULKS ? 0 : n - BULKS; i < n; i++) {
		unsigned char *in = s->in + i % BULKS * s->size;
		const uint64_t word = payload_word(s, from, s->ranks->rank, meeting, i + 1);

		if ((*word_in(in) & ~(uint64_t)LAST) != word || !payload_is(in, s->size, body))
			payload_wrong(s, from, large);
	}
}

/*
 * Large messages both ways at once, BULKS of them or, if `until` is not 0, for so many s. B/s each
 * way.
 */
static double meet_bulk(struct fabric *s, unsigned with, bool first, uint64_t meeting, double until)
{
	const unsigned own = s->ranks->rank;
	double began;
	uint64_t n = 0, last = 0;

	payload_fill(s->out, s->size, payload_word(s, own, with, meeting, 0));
	began = clock_now();
	while (!last) {
		unsigned char *in = s->in + n % BULKS * s->size;
		const double now = clock_now() - began;

		if (first)
			last = until > 0 ? now > until : n + 1 >= BULKS || now > PATIENCE;
		*word_in(s->out) = payload_word(s, own, with, meeting, ++n) | (first ? last : 0);
		s->ranks->swap(with, s->out, with, in, s->size);
		if (!first)
			last = *word_in(in) & LAST;
	}
	began = clock_now() - began;
	check_bulk(s, with, meeting, n);
	return (double)n * (double)s->size / began;
}

/* Latency, then bandwidth. */
static struct meeting meet(struct fabric *s, unsigned with, bool first, uint64_t meeting)
{
	const struct laps laps = meet_ping(s, with, first, meeting);
	const double bandwidth = meet_bulk(s, with, first, meeting, 0);

	return meeting_with(s, with, laps, bandwidth);
}

/* --- all at once, each to one rank and from another --- */

static struct laps shift_small(struct fabric *s, unsigned to, unsigned from, uint64_t meeting)
{
	const unsigned own = s->ranks->rank;

	for (unsigned i = 0; i <= s->pings; i++) {
		const uint64_t out = payload_word(s, own, to, meeting, i),
			       expected = payload_word(s, from, own, meeting, i);
		const double sent = clock_now();
		uint64_t in = 0;

		s->ranks->swap(to, &out, from, &in, sizeof(in));
		if (i)
			s->lap[i - 1] = clock_now() - sent;
		if (in != expected)
			payload_wrong(s, from, small);
	}
	return laps_of(s->lap, s->pings);
}

static double shift_large(struct fabric *s, unsigned to, unsigned from, uint64_t meeting)
{
	double began;

	payload_fill(s->out, s->size, payload_word(s, s->ranks->rank, to, meeting, 0));
	began = clock_now();
	for (uint64_t i = 0; i < BULKS; i++) {
		*word_in(s->out) = payload_word(s, s->ranks->rank, to, meeting, i + 1);
		s->ranks->swap(to, s->out, from, s->in + i * s->size, s->size);
	}
	began = clock_now() - began;
	check_bulk(s, from, meeting, BULKS);
	return (double)BULKS * (double)s->size / began;
}

static struct meeting meet_shift(struct fabric *s, unsigned to, unsigned from, uint64_t meeting)
{
	const struct laps laps = shift_small(s, to, from, meeting);
	const double bandwidth = shift_large(s, to, from, meeting);

	return meeting_with(s, to, laps, bandwidth);
}

/* ---- ways to put ranks together ---- */

/* Waits for all ranks; returns the largest of their numbers. */
static double wait_for_all(const struct fabric *s, double x)
{
	s->ranks->most(&x, 1);
	return x;
}

static void keep(struct fabric *s, struct meeting m)
{
	if (isfinite(m.latency) && s->n < s->room)
		s->met[s->n++] = m;
}

static unsigned measure_loopback(struct fabric *s)
{
	wait_for_all(s, 0);
	keep(s, meet_shift(s, s->ranks->rank, s->ranks->rank, 0));
	return 1;
}

static unsigned measure_ring(struct fabric *s)
{
	const unsigned n = s->ranks->ranks, own = s->ranks->rank;

	wait_for_all(s, 0);
	keep(s, meet_shift(s, (own + 1) % n, (own + n - 1) % n, 0));
	return 1;
}

/* With an odd number of ranks the last one sits out. */
static unsigned measure_bisection(struct fabric *s)
{
	const unsigned half = s->ranks->ranks / 2, own = s->ranks->rank;

	wait_for_all(s, 0);
	if (own < 2 * half)
		keep(s, meet(s, own < half ? own + half : own - half, own < half, 0));
	return 1;
}

/* --- rounds of a tournament --- */

/* If not all rounds fit into the time, those that are played are spread evenly over all. */
static unsigned round_of(const struct fabric *s, unsigned i)
{
	const uint64_t all = tournament_rounds(s->ranks->ranks);

	return (unsigned)(i * all / s->rounds);
}

/* Each rank of a pair begins in half of the rounds, so that rows have the same length. */
static bool is_first(unsigned own, unsigned with)
{
	return ((own + with) % 2 == 1) == (own < with);
}

/* No barrier between rounds: a pair begins when both are there. */
static unsigned measure_pairs(struct fabric *s)
{
	const unsigned own = s->ranks->rank;

	wait_for_all(s, 0);
	for (unsigned i = 0, with, slot; i < s->rounds; i++)
		if (tournament_partner(s->ranks->ranks, round_of(s, i), own, &with, &slot))
			keep(s, meet(s, with, is_first(own, with), i));
	return s->rounds;
}

/* Streams last this many times the longest measurement without them, and no less than that (s). */
#define STREAM_FACTOR 5
#define STREAM_LEAST  1e-3

/* Half of a round's pairs measure while the other half streams; then they change roles. */
static struct meeting meet_loaded(struct fabric *s, unsigned with, unsigned slot, unsigned round)
{
	const bool first = is_first(s->ranks->rank, with), plays = with < s->ranks->ranks;
	const double began = clock_now();
	struct laps alone = { NAN, NAN, NAN, NAN }, loaded = alone;
	double until;

	if (plays)
		alone = meet_ping(s, with, first, 3 * (uint64_t)round);
	until = wait_for_all(s, clock_now() - began);
	until = fmin(STREAM_LEAST + STREAM_FACTOR * until, STREAM_FACTOR * PATIENCE);
	for (unsigned half = 0; half < 2; half++) {
		const uint64_t meeting = 3 * (uint64_t)round + 1 + half;

		if (plays && slot % 2 == half)
			loaded = meet_ping(s, with, first, meeting);
		else if (plays)
			meet_bulk(s, with, first, meeting, until);
		wait_for_all(s, 0);
	}
	return (struct meeting){ .with = with,
				 .here = plays && meet_is_here(s, with),
				 .latency = alone.quarter,
				 .tail = alone.tail,
				 .least = alone.least,
				 .bandwidth = NAN,
				 .loaded = loaded.middle,
				 .factor = loaded.middle / alone.middle,
				 .tail_factor = loaded.tail / alone.tail };
}

static unsigned measure_loaded(struct fabric *s)
{
	wait_for_all(s, 0);
	for (unsigned i = 0, with, slot = 0; i < s->rounds; i++) {
		if (!tournament_partner(s->ranks->ranks, round_of(s, i), s->ranks->rank, &with,
					&slot))
			with = s->ranks->ranks;
		keep(s, meet_loaded(s, with, slot, i));
	}
	return s->rounds;
}

const struct way way_loopback = { 1, measure_loopback }, way_pairs = { 2, measure_pairs },
		 way_bisection = { 2, measure_bisection }, way_ring = { 2, measure_ring },
		 way_loaded = { 4, measure_loaded };
