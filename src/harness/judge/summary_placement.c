/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/ask/options.h"
#include "harness/judge/summary_placement.h"
#include "machine/topology/nodes.h"
#include "machine/topology/topology.h"
#include "base/utf8.h"

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

json_t *placement_json(const struct series *s)
{
	json_t *before, *after;

	if (!s->placements.known)
		return json_null();
	before = one_placement_json(&s->placements.before);
	after = one_placement_json(&s->placements.after);
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

	if (s->moved)
		snprintf(cause, sizeof(cause), ": %s", s->moved);
	if (m->policy.kind == POLICY_STEERED)
		snprintf(cause, sizeof(cause),
			 ": the inherited memory policy %s decides where they lie; lift it with "
			 "numactl --localalloc locus ...",
			 m->policy.text);
	if (placement_is_astray(p))
		verdict_add(v, STATUS_MISPLACED,
			    "%" PRIu64 " of %" PRIu64
			    " pages were not where they were asked to be %s its samples%s",
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

/* Notes nodes where first touch can't place a page with the thread that touches it. */
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
	const struct placements *p = &s->placements;
	const struct trial *t = &s->planned->trial;

	if (!p->known)
		return;
	if (p->before.how != PLACEMENT_VERIFIED)
		verdict_add(v, STATUS_OK, "where its pages lie %s: %s",
			    p->before.how == PLACEMENT_COUNTED
				    ? "was counted by node, and not read page by page"
				    : "is unverified",
			    p->before.why_not);
	judge_placement(&p->before, "before", s, v);
	judge_placement(&p->after, "after", s, v);
	note_first_touch(t, v);
}

void placement_note_huge(const struct series *s, struct verdict *v)
{
	const struct placement *p = &s->placements.before;
	char *cause;

	if (!s->placements.known || p->huge_unknown || p->huge >= p->thp)
		return;
	cause = conditions_cause(s->conditions, CONDITIONS_HUGE);
	verdict_add(v, STATUS_OK,
		    "of %" PRIu64 " bytes asked for on transparent huge pages, %" PRIu64
		    " are on huge ones%s%s",
		    p->thp, p->huge, cause ? ": " : "", cause ? cause : "");
	free(cause);
}
