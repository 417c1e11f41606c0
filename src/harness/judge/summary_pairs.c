/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of workers: by level of the machine, by CPU, and pair by pair. */
#include <math.h>
#include <stdlib.h>

#include "harness/record/record.h"
#include "base/statistics.h"
#include "harness/judge/summary.h"
#include "harness/plan/plan.h"
#include "machine/topology/topology.h"

/*
 * A worker stands out if the median of its pairs at a level differs from its peers' by more than
 * this share, and by more than this many standard deviations.
 */
#define OUTSTANDING_SHARE   0.05
#define OUTSTANDING_SCATTER 5.0
/* Workers stand out only at levels with at least this many workers. */
enum { LEAST_WORKERS = 5 };
/* Standard deviation over median absolute deviation, of a normal distribution. */
#define NORMAL_MAD 1.4826

/* If pairs take longer beside others than alone by more than this share, a note says so. */
#define CROWDED 0.1

static double quantile_of(const struct meetings *l, double q)
{
	return l->n ? statistics_quantile(l->time, l->n, q) : NAN;
}

static const struct {
	const char *key;
	double q;
} summarised[] = {
	{ "0", 0 }, { "0.25", 0.25 }, { "0.5", 0.5 }, { "0.75", 0.75 }, { "0.99", 0.99 }
};
enum { QUANTILES = sizeof(summarised) / sizeof(*summarised) };

static json_t *quantiles(const struct meetings *l)
{
	json_t *object = json_object();

	for (unsigned i = 0; i < QUANTILES; i++)
		json_object_set_new(object, summarised[i].key,
				    record_number(quantile_of(l, summarised[i].q)));
	return object;
}

/* A column for each quantile: objects by pair would repeat each key thousands of times. */
static json_t *matrix_json(const struct pairs *p, const struct trial *t)
{
	json_t *a = json_array(), *b = json_array(), *level = json_array(), *n = json_array(),
	       *of[QUANTILES], *matrix;

	for (unsigned q = 0; q < QUANTILES; q++)
		of[q] = json_array();
	for (unsigned i = 0; i < p->players; i++)
		for (unsigned j = i + 1; j < p->players; j++) {
			const struct meetings *l = &p->met[pair_number(p, i, j)];

			json_array_append_new(a, json_integer(t->place[i].cpu));
			json_array_append_new(b, json_integer(t->place[j].cpu));
			json_array_append_new(
				level,
				json_string(machine_level_names[p->level[pair_number(p, i, j)]]));
			json_array_append_new(n, json_integer((json_int_t)l->n));
			for (unsigned q = 0; q < QUANTILES; q++)
				json_array_append_new(
					of[q], record_number(quantile_of(l, summarised[q].q)));
		}
	matrix = json_pack("{s:o, s:o, s:o, s:o}", "a", a, "b", b, "level", level, "n", n);
	for (unsigned q = 0; q < QUANTILES; q++)
		json_object_set_new(matrix, summarised[q].key, of[q]);
	return matrix;
}

/* Adds the medians of the pairs, at a level, of worker i with each worker from `first` on. */
static void gather(const struct pairs *p, enum level level, unsigned i, unsigned first,
		   struct meetings *medians)
{
	for (unsigned j = first; j < p->players; j++) {
		size_t pair = j == i ? 0 : pair_number(p, i < j ? i : j, i < j ? j : i);

		if (j != i && p->level[pair] == level && p->met[pair].n)
			meetings_add(medians, quantile_of(&p->met[pair], 0.5));
	}
}

/* Quantiles of all meetings at a level, over all pairs. */
static json_t *meetings_json(const struct pairs *p, enum level level)
{
	struct meetings all = { 0 };
	json_t *object;

	for (size_t pair = 0; pair < pair_count(p); pair++)
		for (size_t i = 0; p->level[pair] == level && i < p->met[pair].n; i++)
			meetings_add(&all, p->met[pair].time[i]);
	statistics_sort(all.time, all.n);
	object = quantiles(&all);
	json_object_set_new(object, "n", json_integer((json_int_t)all.n));
	free(all.time);
	return object;
}

/*
 * The median of a worker's pairs at a level; NAN for a single pair, which cannot tell its two
 * workers apart.
 */
static double usual(const struct pairs *p, enum level level, unsigned i)
{
	struct meetings medians = { 0 };
	double middle;

	gather(p, level, i, 0, &medians);
	statistics_sort(medians.time, medians.n);
	middle = medians.n > 1 ? quantile_of(&medians, 0.5) : NAN;
	free(medians.time);
	return middle;
}

/*
 * Finds workers of a node whose pairs at a level differ from those of the node's other workers.
 * Nodes are not compared: where cache lines have a home node, these differ anyway.
 */
static void find_outstanding(const struct pairs *p, const struct trial *t, enum level level,
			     int node, json_t *list)
{
	double *own = calloc(p->players, 3 * sizeof(*own)), *sorted = own + p->players,
	       *off = sorted + p->players, middle, scatter;
	size_t n = 0;

	if (!own)
		return;
	for (unsigned i = 0; i < p->players; i++) {
		own[i] = t->place[i].node == node ? usual(p, level, i) : NAN;
		if (isfinite(own[i]))
			sorted[n++] = own[i];
	}
	statistics_sort(sorted, n);
	middle = n < LEAST_WORKERS ? NAN : statistics_quantile(sorted, n, 0.5);
	for (size_t i = 0; i < n; i++)
		off[i] = fabs(sorted[i] - middle);
	statistics_sort(off, n);
	scatter = n ? NORMAL_MAD * statistics_quantile(off, n, 0.5) : NAN;
	for (unsigned i = 0; i < p->players; i++)
		/* false if one is NAN */
		if (fabs(own[i] - middle) >
		    fmax(OUTSTANDING_SHARE * middle, OUTSTANDING_SCATTER * scatter))
			json_array_append_new(list, json_pack("{s:i, s:s, s:o, s:o}", "cpu",
							      t->place[i].cpu, "level",
							      machine_level_names[level], "median",
							      record_number(own[i]), "of",
							      record_number(middle)));
	free(own);
}

/*
 * The ratio of pairs' time in their rounds to their time alone, for a level or for all (LEVELS),
 * sorted.
 */
static size_t crowding(const struct pairs *p, enum level level, double ratio[PAIRS_MOST_ALONE])
{
	size_t n = 0;

	for (unsigned i = 0, a, b; i < p->alone; i++) {
		const struct meetings *alone = &p->met_alone[i], *met;

		tournament_pair(p->players, p->alone_round[i], p->alone_slot[i], &a, &b);
		met = &p->met[pair_number(p, a, b)];
		if (alone->n && met->n &&
		    (level == LEVELS || p->level[pair_number(p, a, b)] == level))
			ratio[n++] = quantile_of(met, 0.5) / quantile_of(alone, 0.5);
	}
	statistics_sort(ratio, n);
	return n;
}

static json_t *crowding_at(const struct pairs *p, enum level level)
{
	double ratio[PAIRS_MOST_ALONE];
	size_t n = crowding(p, level, ratio);

	return record_number(n ? statistics_quantile(ratio, n, 0.5) : NAN);
}

static json_t *crowding_json(const struct pairs *p)
{
	double ratio[PAIRS_MOST_ALONE];
	size_t n = crowding(p, LEVELS, ratio);

	if (!n)
		return json_null();
	return json_pack("{s:i, s:o, s:o}", "pairs", (int)n, "median",
			 record_number(statistics_quantile(ratio, n, 0.5)), "most",
			 record_number(ratio[n - 1]));
}

static void note_crowding(const json_t *levels, struct verdict *v)
{
	const json_t *level;
	size_t i;

	json_array_foreach(levels, i, level) {
		/* 0 if unknown */
		double ratio = json_number_value(json_object_get(level, "crowding"));

		if (ratio > 1 + CROWDED)
			verdict_add(v, STATUS_OK,
				    "pairs at %s take %.2f times as long side by side as alone: "
				    "measure two CPUs alone with --threads 2 --bind A,B",
				    json_string_value(json_object_get(level, "level")), ratio);
	}
}

/* Adds the levels, the nearest pairs first. */
static void levels_json(const struct pairs *p, const struct trial *t, json_t *levels,
			json_t *outstanding)
{
	struct meetings medians = { 0 };

	for (enum level l = LEVEL_CPU; l < LEVELS; l++) {
		json_t *level;

		medians.n = 0;
		for (unsigned i = 0; i < p->players; i++)
			gather(p, l, i, i + 1, &medians);
		if (!medians.n)
			continue;
		statistics_sort(medians.time, medians.n);
		level = json_pack("{s:s, s:i}", "level", machine_level_names[l], "pairs",
				  (int)medians.n);
		json_object_update_new(level, quantiles(&medians));
		json_object_set_new(level, "meetings", meetings_json(p, l));
		json_object_set_new(level, "crowding", crowding_at(p, l));
		json_array_append_new(levels, level);
		for (unsigned i = 0; i < t->machine->nodes; i++)
			find_outstanding(p, t, l, t->machine->node[i].number, outstanding);
	}
	free(medians.time);
}

/* Sorts all meetings. True: there are some; *crowded: some workers share a CPU. */
static bool sort_meetings(struct pairs *p, bool *crowded)
{
	bool any = false;

	*crowded = false;
	for (unsigned i = 0; i < p->alone; i++)
		statistics_sort(p->met_alone[i].time, p->met_alone[i].n);
	for (size_t pair = 0; pair < pair_count(p); pair++) {
		statistics_sort(p->met[pair].time, p->met[pair].n);
		any |= p->met[pair].n > 0;
		*crowded |= p->level[pair] == LEVEL_CPU;
	}
	return any;
}

json_t *summary_pairs(struct pairs *p, const struct trial *t, struct verdict *v)
{
	json_t *levels, *outstanding;
	bool crowded;

	if (!p || !sort_meetings(p, &crowded))
		return json_null();
	levels = json_array();
	outstanding = json_array();
	levels_json(p, t, levels, outstanding);
	note_crowding(levels, v);
	if (crowded) /* times of workers that share a CPU depend on each other, not on the CPU */
		json_array_clear(outstanding);
	return json_pack("{s:i, s:o, s:o, s:o, s:o}", "rounds", (int)tournament_rounds(p->players),
			 "levels", levels, "outstanding", outstanding, "crowding", crowding_json(p),
			 "cells", matrix_json(p, t));
}
