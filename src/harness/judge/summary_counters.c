/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/judge/summary_counters.h"

#include <stdlib.h>
#include <string.h>

#include "harness/sample/counts.h"
#include "harness/record/json.h"

void counters_note(const struct series *s, const json_t *counters, const json_t *counting,
		   struct verdict *v)
{
	const json_t *counter, *with = json_object_get(counting, "with_ci"),
			       *without = json_object_get(counting, "without_ci");
	unsigned counted, batches;
	size_t i;

	json_array_foreach(counters, i,
			   counter) if (json_is_false(json_object_get(counter, "trusted")))
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
			    "result is of both",
			    json_number_value(json_object_get(counting, "with")),
			    json_number_value(json_object_get(counting, "without")));
}

/* CPUs with a worker where LIKWID entered the region, and all its counters read zero. */
static json_t *uncounted_json(const struct series *s)
{
	const struct trial *t = &s->planned->trial;
	json_t *cpus = json_array();

	for (unsigned i = 0; i < t->threads; i++)
		if (!markers_counted(s->markers, s->region, t->place[i].cpu))
			json_array_append_new(cpus, json_integer(t->place[i].cpu));
	return cpus;
}

json_t *region_json(const struct series *s)
{
	const struct markers *m = s->markers;

	if (!m || !markers_calls(m, s->region))
		return json_null();
	return json_pack("{s:s, s:I, s:o, s:o, s:o}", "name", markers_name(m, s->region), "calls",
			 (json_int_t)markers_calls(m, s->region), "seconds",
			 record_number(markers_seconds(m, s->region)), "measured",
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

	for (unsigned i = 0; s->markers && s->samples && i < t->threads; i++)
		outside += !markers_cover(s->markers, t->place[i].cpu);
	if (outside)
		verdict_add(v, STATUS_OK,
			    "LIKWID counted on CPUs %s only, but %u of %u threads ran elsewhere: "
			    "give all CPUs to likwid-perfctr -C or -c",
			    markers_cpus(s->markers), outside, t->threads);
	if (s->markers)
		note_uncounted(s, v);
}
