/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>

#include "base/numbers.h"
#include "harness/judge/summary_beside.h"
#include "harness/sample/slowed.h"
#include "harness/record/json.h"

/* By level. */
static const struct shared {
	const char *key, *name, *why; /* why the probe can't tell what they do to it */
} levels[] = {
	[BESIDE_CORE] = { "core", "core", "no probe sees what they do to it" },
	[BESIDE_L3] = { "l3", "L3", "its lines can't be flushed here, so no probe sees it" },
	[BESIDE_MEMORY] = { "memory", "memory", "how fast it is without them is not known" },
};

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
	object = json_pack("{s:o, s:s, s:o}", "cpus", cpus_json(b), "share", levels[b->level].key,
			   "busy", record_number(seen.busy));
	if (seen.looks)
		json_object_update_new(
			object,
			json_pack("{s:o, s:o, s:i, s:i, s:o}", "line", record_number(seen.line),
				  b->level == BESIDE_L3 ? "memory" : "best",
				  record_number(b->level == BESIDE_L3 ? seen.memory : seen.best),
				  "slow", (int)seen.slow, "looks", (int)seen.looks, "spent",
				  record_number(b->spent)));
	return object;
}

/* Nothing tells a neighbour that matters from one that only computes. */
static bool unseen(const struct beside *b, const struct slowed *seen)
{
	return b->level == BESIDE_L3 ? !seen->looks : isnan(seen->best);
}

static const char *slow_text(const struct beside *b, const struct slowed *seen, char text[160])
{
	if (b->level == BESIDE_L3)
		snprintf(
			text, 160,
			"lines were evicted from L3 in %u of %u batches (one took %.2f of memory's "
			"time)",
			seen->slow, seen->looks, seen->line / seen->memory);
	else
		snprintf(
			text, 160,
			"memory was slow after %u of %u batches: a line took %.1f times as long as "
			"at best",
			seen->slow, seen->looks, seen->line / seen->best);
	return text;
}

void beside_judge(const struct series *s, struct verdict *v)
{
	const struct beside *b = &s->beside;
	const struct slowed seen = slowed_seen(s);
	const bool one = b->cpus == 1;
	char text[160], list[NUMBER_LIST_TEXT], who[NUMBER_LIST_TEXT + 80] = "";

	if (b->cpus)
		snprintf(who, sizeof(who),
			 "others had %.2f s of CPU time a second on CPU%s %s, which share%s its %s",
			 seen.busy, one ? "" : "s", cpus_text(b, list), one ? "s" : "",
			 levels[b->level].name);
	/* Of L3 a note: some L3s don't hold the probe's lines without neighbours either. */
	if (seen.slow > BESIDE_MOST_SLOW * seen.looks)
		verdict_add(v, b->level == BESIDE_L3 ? STATUS_OK : STATUS_NOISY, "%s%s%s",
			    slow_text(b, &seen, text),
			    b->cpus ? "; " : "", who);
	else if (unseen(b, &seen) && seen.busy >= SLOWED_BUSY)
		verdict_add(v, STATUS_NOISY, "%s: %s; run when they rest", who,
			    levels[b->level].why);
}
