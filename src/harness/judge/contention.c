/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/numbers.h"
#include "base/statistics.h"
#include "harness/judge/contention.h"
#include "harness/record/record.h"
#include "machine/topology/topology.h"

/* --- what the batches saw --- */

/* Where the run keeps its observations from worker 0's CPU; NULL: nowhere. */
static double *quiet_of(const struct series *s)
{
	struct undisturbed *u =
		neighbours_undisturbed(&s->evidence.neighbours, &s->planned->trial, 0);

	return u ? &u->line : NULL;
}

/* The fastest probe of memory, in all batches or in those whose neighbours rested; 0: none. */
static double fastest(const struct series *s, bool rested)
{
	double least = 0;

	for (unsigned i = 0;
	     i < s->samples.batches && s->evidence.neighbours.level == NEIGHBOURS_MEMORY; i++) {
		const double line = s->samples.batch[i].look.line;

		if (line > 0 && (!rested || s->samples.batch[i].rested) &&
		    (!(least > 0) || line < least))
			least = line;
	}
	return least;
}

/* Threads of this process that work elsewhere are not neighbours: they make `foreign` negative. */
static double neighbours_busy(const struct evidence *e)
{
	const struct noise *n = &e->noise;
	const double busy = n->beside + (n->foreign < 0 ? n->foreign : 0);

	if (!e->neighbours.cpu)
		return 0;
	return busy < 0 ? 0 : busy / n->watched;
}

/*
 * s per line without neighbours: the run's best so far, or this trial's if neighbours cannot be the
 * cause.
 */
static double best_of(const struct series *s, double busy)
{
	const double *kept = s->evidence.neighbours.level == NEIGHBOURS_MEMORY ? quiet_of(s) : NULL,
		     quiet = kept ? *kept : 0, least = fastest(s, false);

	if (quiet > 0)
		return least > 0 ? fmin(quiet, least) : quiet;
	return least > 0 && (!(busy >= CONTENTION_BUSY) || fastest(s, true) > 0) ? least : NAN;
}

static bool slow(const struct neighbours *b, struct neighbours_look look, double best)
{
	return b->level == NEIGHBOURS_L3 ? look.line > CONTENTION_GONE * look.memory
					 : look.line > CONTENTION_SLOW * best;
}

/* The medians over the batches. */
static void sum_up(const struct series *s, struct contention *seen, double *lines, double *memory)
{
	for (unsigned i = 0; i < s->samples.batches; i++) {
		const struct neighbours_look look = s->samples.batch[i].look;

		if (!(look.line > 0))
			continue;
		seen->slow += slow(&s->evidence.neighbours, look, seen->best);
		lines[seen->looks] = look.line;
		memory[seen->looks++] = look.memory;
	}
	if (!seen->looks)
		return;
	seen->line = statistics_quantile_known(lines, seen->looks, 0.5);
	if (s->evidence.neighbours.level == NEIGHBOURS_L3)
		seen->memory = statistics_quantile_known(memory, seen->looks, 0.5);
}

struct contention contention_seen(const struct series *s)
{
	struct contention seen = { .busy = neighbours_busy(&s->evidence),
				   .line = NAN,
				   .memory = NAN };
	double *lines = calloc(s->samples.batches + 1, sizeof(*lines)),
	       *memory = calloc(s->samples.batches + 1, sizeof(*memory));

	seen.best = best_of(s, seen.busy);
	if (lines && memory)
		sum_up(s, &seen, lines, memory);
	free(lines);
	free(memory);
	return seen;
}

void contention_learn(const struct series *s)
{
	const double least = fastest(s, !(neighbours_busy(&s->evidence) < CONTENTION_QUIET));
	double *kept = quiet_of(s);

	if (kept && least > 0 && (!(*kept > 0) || least < *kept))
		*kept = least;
}

/* --- in the record, and in the verdict --- */

/* What a neighbour can contend for, by level. */
static const struct shared {
	const char *key, *name, *why; /* why: no probe can show the effect of neighbours */
} levels[] = {
	[NEIGHBOURS_CORE] = { "core", "core", "its effect on the trial can't be probed" },
	[NEIGHBOURS_L3] = { "l3", "L3",
			    "its effect can't be probed, since lines can't be flushed here" },
	[NEIGHBOURS_MEMORY] = { "memory", "memory",
				"its effect is unknown, since no batch ran without it" },
};

static const char *cpus_text(const struct neighbours *b, char text[NUMBER_LIST_TEXT])
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

static json_t *cpus_json(const struct neighbours *b)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < b->cpus; i++)
		json_array_append_new(list, json_integer(b->cpu[i]));
	return list;
}

json_t *contention_json(const struct series *s)
{
	const struct neighbours *b = &s->evidence.neighbours;
	const struct contention seen = contention_seen(s);
	json_t *object;

	if (!b->cpus && !seen.looks)
		return NULL;
	object = json_pack("{s:o, s:s, s:o}", "cpus", cpus_json(b), "share", levels[b->level].key,
			   "busy", record_number(seen.busy));
	if (seen.looks)
		json_object_update_new(
			object,
			json_pack(
				"{s:o, s:o, s:i, s:i, s:o}", "line", record_number(seen.line),
				b->level == NEIGHBOURS_L3 ? "memory" : "best",
				record_number(b->level == NEIGHBOURS_L3 ? seen.memory : seen.best),
				"slow", (int)seen.slow, "looks", (int)seen.looks, "spent",
				record_number(b->spent)));
	return object;
}

/* True if no probe can distinguish a neighbour that matters from one that only computes. */
static bool unseen(const struct neighbours *b, const struct contention *seen)
{
	return b->level == NEIGHBOURS_L3 ? !seen->looks : isnan(seen->best);
}

static const char *slow_text(const struct neighbours *b, const struct contention *seen,
			     char text[160])
{
	if (b->level == NEIGHBOURS_L3)
		snprintf(text, 160,
			 "lines were evicted from L3 in %u of %u batches (a line took %.2f of the "
			 "time from memory)",
			 seen->slow, seen->looks, seen->line / seen->memory);
	else
		snprintf(text, 160,
			 "memory was slow after %u of %u batches: a line took %.1f times its "
			 "shortest time",
			 seen->slow, seen->looks, seen->line / seen->best);
	return text;
}

void contention_judge(const struct series *s, struct verdict *v)
{
	const struct neighbours *b = &s->evidence.neighbours;
	const struct contention seen = contention_seen(s);
	const bool one = b->cpus == 1;
	char text[160], list[NUMBER_LIST_TEXT], who[NUMBER_LIST_TEXT + 100] = "";

	if (b->cpus)
		snprintf(who, sizeof(who),
			 "other work used %.2f s of CPU time per second on CPU%s %s, which "
			 "share%s its %s",
			 seen.busy, one ? "" : "s", cpus_text(b, list), one ? "s" : "",
			 levels[b->level].name);
	/* For L3 only a note: some L3s lose the probe's lines even without neighbours. */
	if (seen.slow > CONTENTION_MOST_SLOW * seen.looks)
		verdict_add(v, b->level == NEIGHBOURS_L3 ? STATUS_OK : STATUS_NOISY, "%s%s%s",
			    slow_text(b, &seen, text), b->cpus ? "; " : "", who);
	else if (unseen(b, &seen) && seen.busy >= CONTENTION_BUSY)
		verdict_add(v, STATUS_NOISY, "%s: %s; run again once it has ended", who,
			    levels[b->level].why);
}
