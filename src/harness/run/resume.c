/* SPDX-License-Identifier: Apache-2.0 */
/* --resume: which trials are complete in the record, and which are measured again. */
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "harness/run/budget.h"
#include "kit/agree.h"

bool resume_wants(const struct planned *p)
{
	return !p->done || p->again;
}

bool resume_left(const struct planned *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (!p[i].done)
			return true;
	return false;
}

static bool any_possible(const struct planned *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (!p[i].refusal)
			return true;
	return false;
}

/*
 * Puts incomplete trials first, as there may not be time for all; otherwise keeps the order.
 * Returns how many are incomplete.
 */
static unsigned sort_left(struct planned *p, unsigned n)
{
	struct planned *done = calloc(n, sizeof(*done));
	unsigned left = 0, others = 0;

	for (unsigned i = 0; done && i < n; i++)
		if (p[i].done)
			done[others++] = p[i];
		else
			p[left++] = p[i];
	if (done)
		memcpy(p + left, done, others * sizeof(*done));
	free(done);
	return left;
}

/*
 * A ratio needs two trials that were sampled in turn: if one trial of a group is left, the others
 * are measured again with it.
 */
static void keep_together(struct plan *plan)
{
	for (unsigned i = 0, n; i < plan->trials; i += n) {
		struct planned *first = &plan->trial[i];
		unsigned left;

		for (n = 0; i + n < plan->trials && first[n].group == first->group; n++)
			;
		left = sort_left(first, n);
		for (unsigned j = left; j < n && any_possible(first, left); j++)
			first[j].again = true;
	}
}

/* Whether a trial that is complete in the file lacks an event that this run counts. */
static bool lacks_counters(const struct record *r, const struct counting *c,
			   const struct planned *p)
{
	const char *event;

	for (unsigned i = 0; !resume_wants(p) && (event = counting_event(c, p->trial.benchmark, i));
	     i++)
		if (!record_has_counter(r, p->id, event))
			return true;
	return false;
}

unsigned resume_mark(struct plans *plans, const struct record *r, const struct counting *c,
		     const struct ranks *ranks, const char *output)
{
	unsigned skipped = 0, lacking = 0;
	struct planned *p;

	for (unsigned i = 0; (p = plans_trial(plans, i)); i++)
		p->done = agree_any(ranks, record_has(r, p->id));
	for (unsigned i = 0; i < plans->plans; i++)
		if (plans->plan[i].benchmark->ratios)
			keep_together(&plans->plan[i]);
	for (unsigned i = 0; (p = plans_trial(plans, i)); i++) {
		skipped += !resume_wants(p);
		lacking += lacks_counters(r, c, p);
	}
	if (record_is_of_another_host(r) && rank_is_first(ranks))
		message_own("--resume: the last run in %s was measured on another host, or on one "
			    "that was changed: its trials are measured again here",
			    output);
	if (lacking && rank_is_first(ranks))
		message_own("--resume: %u complete trials in %s lack the events of --counters: "
			    "give another --output to count them",
			    lacking, output);
	return skipped;
}
