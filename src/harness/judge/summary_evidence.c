/* SPDX-License-Identifier: Apache-2.0 */
/* The evidence beside the samples: in the record, and in the verdict. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/utf8.h"
#include "harness/ask/options.h"
#include "harness/judge/contention.h"
#include "harness/judge/summary.h"
#include "harness/record/record.h"
#include "harness/sample/counts.h"
#include "machine/topology/topology.h"

/* --- where the pages lay --- */

static json_t *one_placement_json(const struct placement *p)
{
	static const char *const how[] = { [PLACEMENT_VERIFIED] = "verified",
					   [PLACEMENT_COUNTED] = "counted",
					   [PLACEMENT_UNVERIFIED] = "unverified" };
	json_t *on_node = json_object(), *object;
	const bool known = p->how != PLACEMENT_UNVERIFIED;

	for (unsigned i = 0; known && i < p->nodes; i++) {
		char key[16];

		snprintf(key, sizeof(key), "%u", i);
		if (p->on_node[i])
			json_object_set_new(on_node, key, json_integer((json_int_t)p->on_node[i]));
	}
	object = json_pack(
		"{s:s, s:o?, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "how", how[p->how], "why",
		utf8_json(p->why_not), "page", (json_int_t)p->page, "pages", (json_int_t)p->pages,
		"on_node", on_node, "unmapped",
		known ? json_integer((json_int_t)p->unmapped) : json_null(), "misplaced",
		known ? json_integer((json_int_t)p->misplaced) : json_null(), "local_share",
		p->how == PLACEMENT_VERIFIED && p->used
			? json_real((double)p->local / (double)p->used)
			: json_null(),
		"huge_bytes", p->huge_unknown ? json_null() : json_integer((json_int_t)p->huge),
		"huge_page", p->huge_page ? json_integer((json_int_t)p->huge_page) : json_null());
	if (p->huge_unknown)
		json_object_set_new(object, "huge_bytes_why",
				    json_string("/proc/self/smaps can't be read"));
	return object;
}

json_t *placement_json(const struct placements *p)
{
	json_t *before, *after;

	if (!p->known)
		return json_null();
	before = one_placement_json(&p->before);
	after = one_placement_json(&p->after);
	if (!json_equal(before, after))
		json_object_set(before, "after", after);
	json_decref(after);
	return before;
}

static void judge_placement(const struct placement *p, const char *when, const struct series *s,
			    struct verdict *v)
{
	const struct machine *m = s->planned->trial.machine;
	char cause[800] = "";

	if (s->evidence.moved)
		snprintf(cause, sizeof(cause), ": %s", s->evidence.moved);
	if (m->policy.kind == MEMORY_POLICY_STEERED)
		snprintf(cause, sizeof(cause),
			 ": the inherited memory policy %s decides where they lie; lift it with "
			 "numactl --localalloc locus ...",
			 m->policy.text);
	if (placement_is_astray(p))
		verdict_add(v, STATUS_MISPLACED,
			    "%" PRIu64 " of %" PRIu64 " pages were misplaced %s its samples%s",
			    p->misplaced, p->pages, when, cause);
}

static bool seated_on(const struct trial *t, int node)
{
	for (unsigned i = 0; i < t->threads; i++)
		if (t->place[i].node == node)
			return true;
	return false;
}

static bool has_node(const struct trial *t)
{
	for (unsigned i = 0; i < t->benchmark->n_parameters; i++)
		if (t->benchmark->parameters[i].type == P_NODE &&
		    parameter_applies(t->benchmark, t->variant, i))
			return true;
	return false;
}

/* Notes nodes where first touch cannot place a page near the thread that touches it. */
static void note_first_touch(const struct trial *t, struct verdict *v)
{
	const struct machine *m = t->machine;
	char lack[NODE_TEXT];

	for (unsigned i = 0; i < m->nodes && !has_node(t); i++)
		if (m->node[i].first_touch != m->node[i].number && seated_on(t, m->node[i].number))
			verdict_add(
				v, STATUS_OK,
				"threads sit on node %d, %s: what they touch first lies on node %d",
				m->node[i].number, node_lack(m, &m->node[i], lack),
				m->node[i].first_touch);
}

void placement_judge(const struct series *s, struct verdict *v)
{
	const struct placements *p = &s->evidence.placements;
	const struct trial *t = &s->planned->trial;

	if (!p->known)
		return;
	if (p->before.how != PLACEMENT_VERIFIED)
		verdict_add(v, STATUS_OK, "%s: %s",
			    p->before.how == PLACEMENT_COUNTED
				    ? "its pages were counted by node, not checked one by one"
				    : "the nodes of its pages are unverified",
			    p->before.why_not);
	judge_placement(&p->before, "before", s, v);
	judge_placement(&p->after, "after", s, v);
	note_first_touch(t, v);
}

void placement_note_huge(const struct series *s, struct verdict *v)
{
	const struct placement *p = &s->evidence.placements.before;
	char *cause;

	if (!s->evidence.placements.known || p->huge_unknown || p->huge >= p->thp)
		return;
	cause = conditions_cause(s->task.conditions, CONDITIONS_HUGE);
	verdict_add(v, STATUS_OK,
		    "%" PRIu64 " bytes were requested on transparent huge pages, %" PRIu64
		    " lie on huge pages%s%s",
		    p->thp, p->huge, cause ? ": " : "", cause ? cause : "");
	free(cause);
}

/* --- noise --- */

/* s: the unit of times in /proc/stat. */
#define TICK 0.01

size_t noise_samples(const struct samples *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += s->noisy[i] & SAMPLE_DISTURBED;
	return n;
}

json_t *noise_json(const struct series *s)
{
	const struct noise *n = &s->evidence.noise;

	if (!s->samples.n)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o*}", "samples",
			 record_number((double)noise_samples(&s->samples) / (double)s->samples.n),
			 "off_cpu", record_number(n->off_cpu), "run_delay", record_number(n->delay),
			 "foreign", record_number(n->foreign < 0 ? 0 : n->foreign), "wall",
			 record_number(n->wall), "beside", contention_json(s));
}

json_t *noise_crowded_json(const struct series *s)
{
	const struct noise *n = &s->evidence.noise;

	if (!n->seats)
		return NULL;
	return json_pack("{s:o, s:o, s:b}", "share",
			 record_number((double)n->crowded / (double)n->seats), "width",
			 record_number(n->narrow / (double)n->crowded), "aside",
			 !!(samples_aside(&s->samples) & SAMPLE_CROWDED));
}

char *noise_crowded(const struct noise *n)
{
	const double share = (double)n->crowded / (double)n->seats;

	if (!(share > NOISE_MOST_SAMPLES))
		return NULL;
	return text_of("its cores were crowded in %.0f %% of samples, and then did %.2f of the "
		       "operations a cycle that they do at most: another hardware thread worked "
		       "there",
		       100 * share, n->narrow / (double)n->crowded);
}

/* How many allocations have too few samples without noise. */
static unsigned allocations_lost(const struct samples *s)
{
	unsigned n = 0;

	for (unsigned a = 0; a < s->allocations; a++)
		n += !samples_has_without(s, a, SAMPLE_DISTURBED);
	return n;
}

/* If the noisy samples are set aside, noise is a note if it took many of them. */
void noise_judge(const struct series *s, struct estimates time, struct verdict *v)
{
	const struct noise *n = &s->evidence.noise;
	const double share = (double)noise_samples(&s->samples) / (double)s->samples.n;
	const unsigned lost = allocations_lost(&s->samples);
	double steal = n->steal > 2 * TICK ? n->steal : 0; /* NAN, unknown, counts as 0 */
	const double shift = 100 * fabs(time.all / time.kept.value - 1);
	char *crowded = noise_crowded(n);
	char seen[160], migrations[48] = "", stolen[48] = "";

	if (n->migrations)
		snprintf(migrations, sizeof(migrations), ", %" PRIu64 " migrations", n->migrations);
	if (steal > 0)
		snprintf(stolen, sizeof(stolen), ", %.2g s stolen", steal);
	snprintf(seen, sizeof(seen),
		 "%.0f %% of samples disturbed: %" PRIu64 " preemptions%s, %.2g s off CPU%s",
		 100 * share, n->involuntary, migrations, n->off_cpu, stolen);
	if (lost)
		verdict_add(v, STATUS_NOISY, "%s; too many to set aside in %u of %u allocations",
			    seen, lost, s->samples.allocations);
	else if (steal > NOISE_MOST_STOLEN * n->wall)
		verdict_add(v, STATUS_NOISY, "%s", seen);
	else if (share > NOISE_MOST_SAMPLES)
		verdict_add(v, STATUS_OK, "%s; set aside, they shift the result by %.1f %%", seen,
			    shift);
	if (crowded && samples_aside(&s->samples) & SAMPLE_CROWDED)
		verdict_add(v, STATUS_OK, "%s; set aside, they shift the result by %.1f %%",
			    crowded, shift);
	free(crowded);
	contention_judge(s, v);
}

/* --- counters, and regions of LIKWID --- */

void counters_note(const struct series *s, const json_t *counters, const json_t *counting,
		   struct verdict *v)
{
	const json_t *counter, *with = json_object_get(counting, "with_ci"),
			       *without = json_object_get(counting, "without_ci");
	unsigned counted, batches;
	size_t i;

	json_array_foreach(counters, i, counter)
		if (json_is_false(json_object_get(counter, "trusted")))
			verdict_add(v, STATUS_OK, "%s is not to be trusted: %s",
				    json_string_value(json_object_get(counter, "name")),
				    json_string_value(json_object_get(counter, "why")));
	for (unsigned event = 0; event < s->tally.events; event++) {
		const char *why = counts_gap(s, event, &counted, &batches);

		if (why) /* the list of counters begins with the trial's events */
			verdict_add(v, STATUS_OK, "%s has a count in %u of %u batches: %s",
				    json_string_value(json_object_get(
					    json_array_get(counters, event), "name")),
				    counted, batches, why);
	}
	if (json_is_array(with) && json_is_array(without) &&
	    (json_number_value(json_array_get(with, 0)) >
		     json_number_value(json_array_get(without, 1)) ||
	     json_number_value(json_array_get(with, 1)) <
		     json_number_value(json_array_get(without, 0))))
		verdict_add(v, STATUS_OK,
			    "counting changes its time: %.4g s with counters, %.4g s without; the "
			    "result covers both",
			    json_number_value(json_object_get(counting, "with")),
			    json_number_value(json_object_get(counting, "without")));
}

/* The workers' CPUs on which LIKWID entered the region, but all its counters read zero. */
static json_t *uncounted_json(const struct series *s)
{
	const struct trial *t = &s->planned->trial;
	json_t *cpus = json_array();

	for (unsigned i = 0; i < t->threads; i++)
		if (!markers_counted(s->task.markers, s->task.region, t->place[i].cpu))
			json_array_append_new(cpus, json_integer(t->place[i].cpu));
	return cpus;
}

json_t *region_json(const struct series *s)
{
	const struct markers *m = s->task.markers;

	if (!m || !markers_calls(m, s->task.region))
		return json_null();
	return json_pack("{s:s, s:I, s:o, s:o, s:o}", "name", markers_name(m, s->task.region),
			 "calls", (json_int_t)markers_calls(m, s->task.region), "seconds",
			 record_number(markers_seconds(m, s->task.region)), "measured",
			 record_number(s->marked), "uncounted", uncounted_json(s));
}

static void note_uncounted(const struct series *s, struct verdict *v)
{
	json_t *cpus = uncounted_json(s);
	char *list = json_dumps(cpus, JSON_COMPACT);
	const size_t n = json_array_size(cpus);

	if (n && list)
		verdict_add(v, STATUS_OK,
			    "all of LIKWID's counters read zero on CPU%s %.*s, %s: do not trust "
			    "its sums for this trial",
			    n > 1 ? "s" : "", (int)strlen(list) - 2, list + 1,
			    n < s->planned->trial.threads ? "where a thread of this trial ran"
							  : "so it counted nothing");
	free(list);
	json_decref(cpus);
}

void region_note(const struct series *s, struct verdict *v)
{
	const struct trial *t = &s->planned->trial;
	unsigned outside = 0;

	for (unsigned i = 0; s->task.markers && s->samples.n && i < t->threads; i++)
		outside += !markers_cover(s->task.markers, t->place[i].cpu);
	if (outside)
		verdict_add(v, STATUS_OK,
			    "LIKWID counted on CPUs %s only, but %u of %u threads ran elsewhere: "
			    "give all CPUs to likwid-perfctr -C or -c",
			    markers_cpus(s->task.markers), outside, t->threads);
	if (s->task.markers)
		note_uncounted(s, v);
}
