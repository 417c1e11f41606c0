/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>

#include "base/numbers.h"
#include "harness/judge/summary_beside.h"
#include "harness/sample/slowed.h"
#include "harness/record/json.h"

static const char *cpus_text(const struct beside *b, char text[NUMBER_LIST_TEXT])
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc();

	text[0] = 0;
	for (unsigned i = 0; set && i < b->cpus; i++)
		hwloc_bitmap_set(set, (unsigned)b->cpu[i]);
	if (set)
		number_list_text(set, text);
	hwloc_bitmap_free(set);
	return text;
}

static json_t *cpus_json(const struct beside *b)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < b->cpus; i++)
		json_array_append_new(list, json_integer(b->cpu[i]));
	return list;
}

json_t *beside_json(const struct series *s)
{
	const struct beside *b = &s->beside;
	const struct slowed seen = slowed_seen(s);
	json_t *object;

	if (!b->cpus && !seen.looks)
		return NULL;
	object = json_pack("{s:o, s:s, s:o}", "cpus", cpus_json(b), "share",
			   b->memory ? "memory" : "core", "busy", record_number(seen.busy));
	if (seen.looks)
		json_object_update_new(object, json_pack("{s:o, s:o, s:i, s:i, s:o}", "line",
							 record_number(seen.line), "best",
							 record_number(seen.best), "slow",
							 (int)seen.slow, "looks", (int)seen.looks,
							 "spent", record_number(b->spent)));
	return object;
}

void beside_judge(const struct series *s, struct verdict *v)
{
	const struct beside *b = &s->beside;
	const struct slowed seen = slowed_seen(s);
	const bool one = b->cpus == 1;
	char list[NUMBER_LIST_TEXT], who[NUMBER_LIST_TEXT + 80] = "";

	if (b->cpus)
		snprintf(who, sizeof(who),
			 "others had %.2f s of CPU time a second on CPU%s %s, which share%s its %s",
			 seen.busy, one ? "" : "s", cpus_text(b, list), one ? "s" : "",
			 b->memory ? "memory" : "core");
	if (seen.slow > BESIDE_MOST_SLOW * seen.looks)
		verdict_add(v, STATUS_NOISY,
			    "memory was slow after %u of %u batches: a line took %.1f times as "
			    "long as at best%s%s",
			    seen.slow, seen.looks, seen.line / seen.best, b->cpus ? "; " : "", who);
	else if (isnan(seen.best) && seen.busy >= SLOWED_BUSY)
		verdict_add(v, STATUS_NOISY,
			    "%s: how fast it is without them is not known; run when they rest",
			    who);
}
