/* SPDX-License-Identifier: Apache-2.0 */
/* LIKWID's regions: one for each trial. */
#include <stdio.h>
#include <stdlib.h>

#include "base/message.h"
#include "base/text.h"
#include "base/utf8.h"
#include "harness/run/run.h"
#include "kit/agree.h"

void regions_open(struct regions *r)
{
	r->markers = markers_open(&r->why_not);
}

/*
 * No region for threads that may share a CPU: LIKWID would count each thread's work for the others,
 * too.
 */
static bool wants_region(const struct planned *p)
{
	return resume_wants(p) && !p->refusal && !p->trial.oversubscribed && !p->trial.floating;
}

bool regions_has(const struct regions *r, const struct planned *p)
{
	return r->markers && wants_region(p);
}

static bool name_all(struct regions *r, struct plans *plans, char **name)
{
	struct planned *p;

	for (unsigned i = 0; (p = plans_trial(plans, i)); i++) {
		if (!wants_region(p))
			continue;
		p->region = r->regions;
		name[r->regions] = text_of("%.24s_%.32s_%s", p->trial.benchmark->name,
					   p->trial.variant->name, p->id);
		if (!name[r->regions++])
			return false;
	}
	return true;
}

void regions_register(struct regions *r, struct plans *plans, const struct ranks *ranks)
{
	char **name = calloc(plans->trials + 1, sizeof(*name));

	if (r->markers && name && name_all(r, plans, name) && r->regions &&
	    !markers_register(r->markers, (const char *const *)name, r->regions, &r->why_not)) {
		markers_close(r->markers);
		r->markers = NULL;
	}
	for (unsigned i = 0; name && i < r->regions; i++)
		free(name[i]);
	free(name);
	agree_words(ranks, &r->why_not);
	if (r->why_not && rank_is_first(ranks))
		message_own("no regions for LIKWID: %s", r->why_not);
}

/* Whether LIKWID read more than zeros on all CPUs of a trial. */
static bool all_counted(const struct regions *r, const struct planned *p)
{
	for (unsigned i = 0; i < p->trial.threads; i++)
		if (!markers_counted(r->markers, p->region, p->trial.place[i].cpu))
			return false;
	return true;
}

static void report_lost_counts(const struct regions *r, const struct plans *plans)
{
	unsigned lost = 0, entered = 0;
	const struct planned *p;

	for (unsigned i = 0; r->regions && (p = plans_trial(plans, i)); i++) {
		if (!regions_has(r, p) || !markers_calls(r->markers, p->region))
			continue;
		entered++;
		lost += !all_counted(r, p);
	}
	if (lost)
		message_own("LIKWID's counters read only zeros on some CPU in %u of %u regions "
			    "(see the notes of their trials): do not trust its sums",
			    lost, entered);
}

void regions_close(struct regions *r, const struct plans *plans, const struct ranks *ranks)
{
	if (rank_is_first(ranks))
		report_lost_counts(r, plans);
	markers_close(r->markers);
	r->markers = NULL;
}

void regions_free(struct regions *r)
{
	markers_close(r->markers);
	free(r->why_not);
}

json_t *regions_json(const struct regions *r)
{
	const struct markers *m = r->markers;
	json_t *groups;

	if (!m)
		return json_null();
	groups = json_array();
	for (unsigned i = 0; i < markers_groups(m); i++)
		json_array_append_new(groups, utf8_json(markers_group(m, i)));
	return json_pack("{s:o?, s:o?, s:o?, s:o, s:i}", "library", utf8_json(markers_library(m)),
			 "mode", utf8_json(markers_mode(m)), "cpus", utf8_json(markers_cpus(m)),
			 "groups", groups, "regions", (int)markers_regions(m));
}
