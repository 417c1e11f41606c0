/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/actors/crew.h"
#include "bench/actors/actors.h"
#include "bench/actors/bodies.h"

enum {
	THROUGHPUT,
	WAITING,
	WAITING_P99,
	WAITING_LONGEST,
	LOCAL_THREAD,
	LOCAL_CACHE,
	LOCAL_NODE,
	STEALS,
	MOVES,
	SLEEPS,
	PREEMPTIONS,
	MIGRATIONS,
	IDLE,
	IMBALANCE,
};

const struct metric actors_metrics[ACTORS_METRICS] = {
	[THROUGHPUT] = THROUGHPUT_METRIC("message"),
	[WAITING] = { "waiting", "s",
		      "median time from a message's sending (with --rate: its due time) to its "
		      "handling; one in --every is timed",
		      LOWER_IS_BETTER, .kind = M_DISTRIBUTION },
	[WAITING_P99] = { "waiting-p99", "s", "99th percentile of the waiting time",
			  LOWER_IS_BETTER, NULL },
	[WAITING_LONGEST] = { "waiting-longest", "s", "longest waiting time", LOWER_IS_BETTER,
			      NULL },
	[LOCAL_THREAD] = { "same-thread", "1",
			   "share of messages handled by the thread that handled the actor's "
			   "previous message",
			   HIGHER_IS_BETTER, NULL },
	[LOCAL_CACHE] = { "same-cache", "1",
			  "share of messages handled below the same last-level cache as the "
			  "actor's previous message",
			  HIGHER_IS_BETTER, NULL },
	[LOCAL_NODE] = { "same-node", "1",
			 "share of messages handled on the same NUMA node as the actor's previous "
			 "message",
			 HIGHER_IS_BETTER, NULL },
	[STEALS] = { "steals", "1", "successful steals per message", NEITHER_IS_BETTER, NULL },
	[MOVES] = { "moves", "1", "actors moved by steals, per message", NEITHER_IS_BETTER, NULL },
	[SLEEPS] = { "sleeps", "1/s", "voluntary context switches of all threads per second",
		     LOWER_IS_BETTER, NULL },
	[PREEMPTIONS] = { "preemptions", "1/s", "preemptions of all threads per second",
			  LOWER_IS_BETTER, NULL },
	[MIGRATIONS] = { "migrations", "1/s",
			 "threads that end a sample on another CPU than they began on, per second",
			 LOWER_IS_BETTER, NULL },
	[IDLE] = { "idle", "1", "share of the threads' time in which they had no actor to run",
		   LOWER_IS_BETTER, NULL },
	[IMBALANCE] = { "imbalance", "1", "busy time of the busiest thread over the mean",
			LOWER_IS_BETTER, .kind = M_IMBALANCE },
	TIME_METRIC("message"),
};

static bool own_threads(const struct state *s)
{
	return s->crew.executor->own_threads;
}

static void collect_waiting(struct state *s, struct result *result)
{
	struct histogram *all = &s->waiting[s->threads];

	histogram_clear(all);
	for (unsigned i = 0; i < s->threads; i++) {
		histogram_merge(all, &s->waiting[i], s->tick);
		histogram_clear(&s->waiting[i]);
	}
	if (!histogram_total(all))
		return;
	report_distribution(result, WAITING, all, 1);
	report(result, WAITING_P99, histogram_quantile(all, 0.99));
	report(result, WAITING_LONGEST, histogram_quantile(all, 1));
}

static void collect_places(const struct state *s, struct result *result)
{
	uint64_t ran = 0, steals = 0, moves = 0, step[CREW_STEPS] = { 0 };
	double far;

	for (unsigned i = 0; i < s->threads; i++) {
		const struct crew_hand *h = crew_hand(&s->crew, i);

		ran += h->ran;
		steals += h->steals;
		moves += h->moves;
		for (unsigned n = 0; n < CREW_STEPS; n++)
			step[n] += h->step[n];
	}
	far = (double)(step[CREW_SAME_NODE] + step[CREW_ELSEWHERE]);
	report(result, LOCAL_THREAD, 1 - (far + (double)step[CREW_SAME_CACHE]) / (double)ran);
	report(result, STEALS, (double)steals / (double)ran);
	report(result, MOVES, (double)moves / (double)ran);
	if (s->floating)
		return; /* where unpinned threads run is not known */
	report(result, LOCAL_CACHE, 1 - far / (double)ran);
	report(result, LOCAL_NODE, 1 - (double)step[CREW_ELSEWHERE] / (double)ran);
}

static void collect_switches(const struct state *s, struct result *result)
{
	uint64_t voluntary = 0, involuntary = 0, migrations = 0;

	for (unsigned i = 0; i < s->threads; i++) {
		const struct attendance *a = team_attendance(s->team, i);
		const struct crew_hand *h = crew_hand(&s->crew, i);

		voluntary +=
			own_threads(s) ? h->voluntary : a->after.voluntary - a->before.voluntary;
		involuntary += own_threads(s) ? h->involuntary
					      : a->after.involuntary - a->before.involuntary;
		migrations += own_threads(s) ? h->migrated : a->after.on_cpu != a->before.on_cpu;
	}
	report(result, SLEEPS, (double)voluntary / elapsed(result));
	report(result, PREEMPTIONS, (double)involuntary / elapsed(result));
	report(result, MIGRATIONS, (double)migrations / elapsed(result));
}

static void collect_balance(const struct state *s, struct result *result)
{
	double idle = 0;

	if (own_threads(s))
		return; /* how long threads wait inside OpenMP is not known */
	for (unsigned i = 0; i < s->threads; i++) {
		const struct crew_hand *h = crew_hand(&s->crew, i);
		const double share = (double)h->idle / (double)(h->ended - h->began);

		idle += share / s->threads;
		report_by_worker(result, IMBALANCE, i, 1 - share);
	}
	report(result, IDLE, idle);
}

void actors_collect(void *state, const struct trial *t, struct result *result)
{
	struct state *s = state;

	(void)t;
	collect_waiting(s, result);
	collect_places(s, result);
	collect_switches(s, result);
	collect_balance(s, result);
}

/* ---- the check after the last sample ---- */

#define NOT_THE_RESULT "an actor's state is not the result of its messages"

static const char *say(struct state *s, const char *what, uint64_t actor)
{
	snprintf(s->sentence, sizeof(s->sentence), "actor %" PRIu64 ": %s", actor, what);
	return s->sentence;
}

/* Additions to states that are repeated, at most. */
#define REPEATED (UINT64_C(1) << 24)

/* Whether a state is what messages 1 to a->ran make of it (bodies.h). `again`: for as many. */
static bool is_repeated(const struct state *s, const struct actor *a, uint32_t *again)
{
	memset(again, 0, s->words * sizeof(*again));
	for (uint64_t n = 1; n <= a->ran; n++) {
		uint64_t random = random_mix(n + 1);

		for (uint64_t i = 0; i < s->touched; i++) {
			random = random * UINT64_C(6364136223846793005) +
				 UINT64_C(1442695040888963407);
			again[(random >> 32) * s->words >> 32]++;
		}
	}
	return !memcmp(again, a->state, s->words * sizeof(*again));
}

/* All states, or evenly spaced ones. */
static const char *repeat(struct state *s)
{
	uint32_t *again = calloc(s->words + 1, sizeof(*again));
	const char *wrong = again ? NULL : "there is no memory to verify it";
	uint64_t ran = 0, every;

	for (uint64_t i = 0; i < s->actors; i++)
		ran += s->actor[i].ran;
	every = ran * s->touched / REPEATED + 1;
	for (uint64_t i = 0; i < s->actors && !wrong; i += every)
		if (s->actor[i].ran * s->touched <= REPEATED &&
		    !is_repeated(s, &s->actor[i], again))
			wrong = say(s, NOT_THE_RESULT, i);
	free(again);
	return wrong;
}

/*
 * Whether messages went to the actors that get some, and to no other. If the actor is drawn for
 * each message, none has 8 standard deviations more than the mean; if messages stay at theirs, some
 * get at most 5 where others get 4, unless the user set their number.
 */
static const char *look_where_they_went(struct state *s)
{
	double mean = 0, most;

	for (uint64_t i = 0; i < s->actors; i++)
		mean += (double)s->actor[i].ran / (double)s->actives;
	most = s->random ? mean + 8 * sqrt(mean) + 64 : s->exact ? INFINITY : 2 * mean + 64;
	for (uint64_t i = 0, next = 0; i < s->actors; i++) {
		const bool gets_some = next < s->actives && s->active[next] == i;
		const double ran = (double)s->actor[i].ran;

		next += gets_some;
		if (!gets_some && ran > 0)
			return say(s, "it got messages that were for others", i);
		if (ran > most)
			return say(s, "it got more messages than chance gives it", i);
	}
	return NULL;
}

/*
 * Checks that all messages of the last sample were handled as often as they should, and that the
 * states are what their messages made of them.
 */
const char *actors_verify(void *state, const struct trial *t)
{
	struct state *s = state;
	const char *wrong = NULL;
	uint64_t handled = 0;

	(void)t;
	for (uint64_t i = 0; i < s->messages; i++) {
		handled += s->message[i].hops;
		if (s->rate == 0 && s->message[i].hops != s->hops + (i < s->rest))
			return "a message was lost, or handled twice";
	}
	if (handled != s->hops * s->messages + s->rest)
		return "a message was lost, or handled twice";
	for (uint64_t i = 0; i < s->actors; i++) {
		const struct actor *a = &s->actor[i];

		if (a->inbox || a->first)
			return say(s, "a message was not handled", i);
		if (s->entries ? !bodies_map_right(a->state, a->ran)
			       : !bodies_walked(a->state, s->words, s->touched, a->ran))
			return say(s, NOT_THE_RESULT, i);
	}
	if (s->rate == 0) /* with --rate, messages that were handed back last are sent first */
		wrong = look_where_they_went(s);
	return wrong || s->entries ? wrong : repeat(s);
}
