/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/arithmetic.h"
#include "bench/locks/locks.h"

enum {
	TIME,
	THROUGHPUT,
	FAIRNESS,
	WAIT,
	WAIT_P99,
	WAIT_LONGEST,
	HANDOVER,
	/* by distance, from DISTANCE_CORE */
	HANDOVER_NEAR,
	TO_SELF = HANDOVER_NEAR + DISTANCES - 1,
};

#define HANDOVER_TO(WHERE) "median handover to " WHERE
#define SHARE_AFTER(WHERE) "share of writing sections that follow a section of " WHERE
const struct metric locks_metrics[LOCKS_METRICS] = {
	[TIME] = TIME_METRIC("acquisition"),
	[THROUGHPUT] = THROUGHPUT_METRIC("acquisition"),
	[FAIRNESS] = FAIRNESS_METRIC("acquisition"),
	[WAIT] = { "wait", "s", "median time from requesting the lock to holding it",
		   LOWER_IS_BETTER, .kind = M_DISTRIBUTION },
	[WAIT_P99] = { "wait-p99", "s", "99th percentile of the wait in a sample", LOWER_IS_BETTER,
		       NULL },
	[WAIT_LONGEST] = { "wait-longest", "s", "longest wait in a sample", LOWER_IS_BETTER, NULL },
	[HANDOVER] = { "handover", "s",
		       "median time from one thread's leaving a section to another thread's "
		       "entering one (if all sections write)",
		       LOWER_IS_BETTER, .kind = M_DISTRIBUTION },
	[HANDOVER_NEAR] = { "handover-core", "s", HANDOVER_TO("another thread of the core"),
			    LOWER_IS_BETTER, NULL },
	{ "handover-cache", "s", HANDOVER_TO("a core with a common L2 or L3"), LOWER_IS_BETTER,
	  NULL },
	{ "handover-node", "s", HANDOVER_TO("another core of the node"), LOWER_IS_BETTER, NULL },
	{ "handover-far", "s", HANDOVER_TO("another node"), LOWER_IS_BETTER, NULL },
	[TO_SELF] = { "to-self", "1", SHARE_AFTER("the same thread"), NEITHER_IS_BETTER, NULL },
	{ "to-core", "1", SHARE_AFTER("another thread of the core"), NEITHER_IS_BETTER, NULL },
	{ "to-cache", "1", SHARE_AFTER("a core with a common L2 or L3"), NEITHER_IS_BETTER, NULL },
	{ "to-node", "1", SHARE_AFTER("another core of the node"), NEITHER_IS_BETTER, NULL },
	{ "to-far", "1", SHARE_AFTER("another node"), NEITHER_IS_BETTER, NULL },
};

static void collect_waits(const struct state *s, struct result *result)
{
	struct histogram *h = s->histogram;

	histogram_clear(h);
	for (unsigned i = 0; i < s->threads; i++) {
		const struct visitor *v = locks_visitor(s, i);

		for (uint64_t k = 0; k < smaller(v->waits, KINDS_KEPT); k++)
			histogram_add(h, (double)v->wait[k] * s->tick);
	}
	if (!histogram_total(h))
		return;
	report_distribution(result, WAIT, h, 1);
	report(result, WAIT_P99, histogram_quantile(h, 0.99));
	report(result, WAIT_LONGEST, histogram_quantile(h, 1));
}

/* Adds the handovers across a distance to the histogram; DISTANCES: all handovers. */
static void add_handovers(const struct state *s, enum distance across)
{
	for (unsigned i = 0; i < s->threads; i++) {
		const struct visitor *v = locks_visitor(s, i);

		for (uint64_t k = 0; k < smaller(v->handovers, KINDS_KEPT); k++)
			if (across == DISTANCES || v->across[k] == across)
				histogram_add(s->histogram, (double)v->handover[k] * s->tick);
	}
}

static void collect_handovers(const struct state *s, struct result *result)
{
	struct histogram *h = s->histogram;

	histogram_clear(h);
	add_handovers(s, DISTANCES);
	report_distribution(result, HANDOVER, h, 1);
	for (unsigned d = DISTANCE_CORE; d < DISTANCES; d++) {
		histogram_clear(h);
		add_handovers(s, d);
		report(result, HANDOVER_NEAR + d - DISTANCE_CORE, histogram_quantile(h, 0.5));
	}
}

static void collect_shares(const struct state *s, struct result *result)
{
	uint64_t handed[DISTANCES] = { 0 }, all = 0;

	for (unsigned i = 0; i < s->threads; i++) {
		const struct visitor *v = locks_visitor(s, i);

		for (unsigned k = 0; k < s->threads; k++) {
			handed[v->distance[k]] += v->from[k];
			all += v->from[k];
		}
	}
	for (unsigned d = 0; all && d < DISTANCES; d++)
		report(result, TO_SELF + d, (double)handed[d] / (double)all);
}

void locks_collect(void *state, const struct trial *t, struct result *result)
{
	const struct state *s = state;

	for (unsigned i = 0; i < t->threads; i++)
		report_by_worker(result, FAIRNESS, i, (double)team_worker(t->team, i)->together);
	collect_waits(s, result);
	if (!locks_are_one(t) || t->threads < 2 || t->floating)
		return;
	collect_shares(s, result);
	if (!s->reads)
		collect_handovers(s, result);
}
