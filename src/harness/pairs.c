/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "harness/pairs.h"
#include "kit/random.h"
#include "harness/record.h"
#include "harness/statistics.h"
#include "machine/topology.h"

/* As many pairs of each level are measured alone as well. */
enum { ALONE = 2, MOST_ALONE = ALONE * LEVELS };

/*
 * A worker stands out when its pairs of a level are off the level's median by more than this share,
 * and by more of the usual scatter than that.
 */
#define OUTSTANDING_SHARE   0.05
#define OUTSTANDING_SCATTER 5.0
/* ... which takes so many workers to be known. */
enum { LEAST_WORKERS = 5 };
/* The standard deviation of what is spread normally, for its median absolute deviation. */
#define NORMAL_MAD 1.4826

struct list {
	double *x;
	size_t n, room;
	size_t batch; /* of these, those before this batch */
};

struct pairs {
	unsigned players;
	struct list *met;     /* by number_of() */
	unsigned char *level; /* likewise: enum level */
	unsigned alone;
	unsigned alone_round[MOST_ALONE], alone_table[MOST_ALONE];
	struct list met_alone[MOST_ALONE];
};

/*
 * The circle method (Kirkman 1850): one stays where it is, the others move on by a seat each round.
 */
static unsigned seats(unsigned players)
{
	return players + players % 2;
}

unsigned pairs_rounds(unsigned players)
{
	return players < 2 ? 0 : seats(players) - 1;
}

unsigned pairs_tables(unsigned players)
{
	return seats(players) / 2;
}

bool pairs_at(unsigned players, unsigned round, unsigned table, unsigned *a, unsigned *b)
{
	const unsigned last = seats(players) - 1;
	unsigned one = (round + table) % last, other = table ? (round + last - table) % last : last;

	*a = one < other ? one : other;
	*b = one < other ? other : one;
	return *b < players;
}

/* Of the pairs a < b, row by row. */
static size_t number_of(const struct pairs *p, unsigned a, unsigned b)
{
	return (size_t)a * (2 * p->players - a - 1) / 2 + (b - a - 1);
}

static size_t pair_count(const struct pairs *p)
{
	return (size_t)p->players * (p->players - 1) / 2;
}

/*
 * Anywhere in the tournament, of each level, and no pair twice. A level with few pairs takes many
 * tries.
 */
static void choose_alone(struct pairs *p, uint64_t seed)
{
	const unsigned rounds = pairs_rounds(p->players), tables = pairs_tables(p->players);
	unsigned there[LEVELS] = { 0 }, chosen[LEVELS] = { 0 }, wanted = 0, a, b;

	if (p->players < 4) /* one pair at a time, or none */
		return;
	for (size_t i = 0; i < pair_count(p); i++)
		wanted += there[p->level[i]]++ < ALONE;
	for (uint64_t tries = 0; tries < 20000 && p->alone < wanted; tries++) {
		unsigned round = (unsigned)(mix(seed + 2 * tries) % rounds),
			 table = (unsigned)(mix(seed + 2 * tries + 1) % tables), i = 0;

		while (i < p->alone && (p->alone_round[i] != round || p->alone_table[i] != table))
			i++;
		if (i < p->alone || !pairs_at(p->players, round, table, &a, &b) ||
		    chosen[p->level[number_of(p, a, b)]] == ALONE)
			continue;
		chosen[p->level[number_of(p, a, b)]]++;
		p->alone_round[p->alone] = round;
		p->alone_table[p->alone++] = table;
	}
}

struct pairs *pairs_open(const struct trial *t)
{
	struct pairs *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->players = t->threads;
	p->met = calloc(pair_count(p) + 1, sizeof(*p->met));
	p->level = calloc(pair_count(p) + 1, 1);
	if (!p->met || !p->level) {
		pairs_close(p);
		return NULL;
	}
	for (unsigned i = 0; i < p->players; i++)
		for (unsigned j = i + 1; j < p->players; j++)
			p->level[number_of(p, i, j)] = (unsigned char)machine_level(
				t->machine, t->place[i].cpu, t->place[j].cpu);
	choose_alone(p, t->seed);
	return p;
}

void pairs_close(struct pairs *p)
{
	if (!p)
		return;
	for (size_t i = 0; p->met && i < pair_count(p); i++)
		free(p->met[i].x);
	for (unsigned i = 0; i < p->alone; i++)
		free(p->met_alone[i].x);
	free(p->level);
	free(p->met);
	free(p);
}

unsigned pairs_alone(const struct pairs *p)
{
	return p->alone;
}

void pairs_alone_at(const struct pairs *p, unsigned i, unsigned *round, unsigned *table)
{
	*round = p->alone_round[i];
	*table = p->alone_table[i];
}

/* Drops it when memory is out. */
static void add(struct list *l, double x)
{
	if (l->n == l->room) {
		size_t room = l->room ? 2 * l->room : 64;
		double *grown = realloc(l->x, room * sizeof(*grown));

		if (!grown)
			return;
		l->x = grown;
		l->room = room;
	}
	l->x[l->n++] = x;
}

static struct list *alone_list(struct pairs *p, unsigned a, unsigned b)
{
	unsigned one, other;

	for (unsigned i = 0; i < p->alone; i++)
		if (pairs_at(p->players, p->alone_round[i], p->alone_table[i], &one, &other) &&
		    one == a && other == b)
			return &p->met_alone[i];
	return NULL;
}

void pairs_add(struct pairs *p, unsigned a, unsigned b, double time, bool alone)
{
	struct list *l = alone ? alone_list(p, a, b) : &p->met[number_of(p, a, b)];

	if (l && isfinite(time))
		add(l, time);
}

double pairs_batch(struct pairs *p)
{
	double sum = 0;
	size_t pairs = 0;

	for (size_t i = 0; i < pair_count(p); i++) {
		struct list *l = &p->met[i];

		if (l->n == l->batch)
			continue;
		sum += quantile_known(l->x + l->batch, NULL, l->n - l->batch, 0.5);
		pairs++;
		l->batch = l->n;
	}
	return pairs ? sum / (double)pairs : NAN;
}

static double quantile_of(const struct list *l, double q)
{
	return l->n ? quantile(l->x, l->n, q) : NAN;
}

static const struct {
	const char *key;
	double q;
} shown[] = { { "0", 0 }, { "0.25", 0.25 }, { "0.5", 0.5 }, { "0.75", 0.75 }, { "0.99", 0.99 } };
enum { SHOWN = sizeof(shown) / sizeof(*shown) };

static json_t *quantiles(const struct list *l)
{
	json_t *object = json_object();

	for (unsigned i = 0; i < SHOWN; i++)
		json_object_set_new(object, shown[i].key, number(quantile_of(l, shown[i].q)));
	return object;
}

/*
 * A column for each quantile: thousands of pairs as objects of their own would say each key
 * thousands of times.
 */
static json_t *cells_json(const struct pairs *p, const struct trial *t)
{
	json_t *a = json_array(), *b = json_array(), *level = json_array(), *n = json_array(),
	       *of[SHOWN], *cells;

	for (unsigned q = 0; q < SHOWN; q++)
		of[q] = json_array();
	for (unsigned i = 0; i < p->players; i++)
		for (unsigned j = i + 1; j < p->players; j++) {
			const struct list *l = &p->met[number_of(p, i, j)];

			json_array_append_new(a, json_integer(t->place[i].cpu));
			json_array_append_new(b, json_integer(t->place[j].cpu));
			json_array_append_new(
				level, json_string(level_names[p->level[number_of(p, i, j)]]));
			json_array_append_new(n, json_integer((json_int_t)l->n));
			for (unsigned q = 0; q < SHOWN; q++)
				json_array_append_new(of[q], number(quantile_of(l, shown[q].q)));
		}
	cells = json_pack("{s:o, s:o, s:o, s:o}", "a", a, "b", b, "level", level, "n", n);
	for (unsigned q = 0; q < SHOWN; q++)
		json_object_set_new(cells, shown[q].key, of[q]);
	return cells;
}

/* Adds the median of each pair of worker i with one of first.. at a level. */
static void gather(const struct pairs *p, enum level level, unsigned i, unsigned first,
		   struct list *medians)
{
	for (unsigned j = first; j < p->players; j++) {
		size_t pair = j == i ? 0 : number_of(p, i < j ? i : j, i < j ? j : i);

		if (j != i && p->level[pair] == level && p->met[pair].n)
			add(medians, quantile_of(&p->met[pair], 0.5));
	}
}

/* Quantiles of all meetings of a level, whatever their pair. */
static json_t *meetings_json(const struct pairs *p, enum level level)
{
	struct list all = { 0 };
	json_t *object;

	for (size_t pair = 0; pair < pair_count(p); pair++)
		for (size_t i = 0; p->level[pair] == level && i < p->met[pair].n; i++)
			add(&all, p->met[pair].x[i]);
	sort(all.x, all.n);
	object = quantiles(&all);
	json_object_set_new(object, "n", json_integer((json_int_t)all.n));
	free(all.x);
	return object;
}

/*
 * The median of a worker's pairs of a level; NAN where it has one only, of which nobody knows whose
 * fault it is.
 */
static double usual(const struct pairs *p, enum level level, unsigned i)
{
	struct list medians = { 0 };
	double middle;

	gather(p, level, i, 0, &medians);
	sort(medians.x, medians.n);
	middle = medians.n > 1 ? quantile_of(&medians, 0.5) : NAN;
	free(medians.x);
	return middle;
}

/*
 * Workers of a node whose pairs of a level are not like those of the node's others: where lines
 * have a home, nodes differ.
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
	sort(sorted, n);
	middle = n < LEAST_WORKERS ? NAN : quantile(sorted, n, 0.5);
	for (size_t i = 0; i < n; i++)
		off[i] = fabs(sorted[i] - middle);
	sort(off, n);
	scatter = n ? NORMAL_MAD * quantile(off, n, 0.5) : NAN;
	for (unsigned i = 0; i < p->players; i++)
		/* false where there is none */
		if (fabs(own[i] - middle) >
		    fmax(OUTSTANDING_SHARE * middle, OUTSTANDING_SCATTER * scatter))
			json_array_append_new(
				list, json_pack("{s:i, s:s, s:o, s:o}", "cpu", t->place[i].cpu,
						"level", level_names[level], "median",
						number(own[i]), "of", number(middle)));
	free(own);
}

/*
 * What pairs took in their rounds over what they took alone, of a level or of all (LEVELS): sorted.
 */
static size_t crowding(const struct pairs *p, enum level level, double ratio[MOST_ALONE])
{
	size_t n = 0;

	for (unsigned i = 0, a, b; i < p->alone; i++) {
		const struct list *alone = &p->met_alone[i], *met;

		pairs_at(p->players, p->alone_round[i], p->alone_table[i], &a, &b);
		met = &p->met[number_of(p, a, b)];
		if (alone->n && met->n &&
		    (level == LEVELS || p->level[number_of(p, a, b)] == level))
			ratio[n++] = quantile_of(met, 0.5) / quantile_of(alone, 0.5);
	}
	sort(ratio, n);
	return n;
}

static json_t *crowding_at(const struct pairs *p, enum level level)
{
	double ratio[MOST_ALONE];
	size_t n = crowding(p, level, ratio);

	return number(n ? quantile(ratio, n, 0.5) : NAN);
}

static json_t *crowding_json(const struct pairs *p)
{
	double ratio[MOST_ALONE];
	size_t n = crowding(p, LEVELS, ratio);

	if (!n)
		return json_null();
	return json_pack("{s:i, s:o, s:o}", "pairs", (int)n, "median",
			 number(quantile(ratio, n, 0.5)), "most", number(ratio[n - 1]));
}

/* From those that share most to those that share least. */
static void levels_json(const struct pairs *p, const struct trial *t, json_t *levels,
			json_t *outstanding)
{
	struct list medians = { 0 };

	for (enum level l = SAME_CPU; l < LEVELS; l++) {
		json_t *level;

		medians.n = 0;
		for (unsigned i = 0; i < p->players; i++)
			gather(p, l, i, i + 1, &medians);
		if (!medians.n)
			continue;
		sort(medians.x, medians.n);
		level = json_pack("{s:s, s:i}", "level", level_names[l], "pairs", (int)medians.n);
		json_object_update_new(level, quantiles(&medians));
		json_object_set_new(level, "meetings", meetings_json(p, l));
		json_object_set_new(level, "crowding", crowding_at(p, l));
		json_array_append_new(levels, level);
		for (unsigned i = 0; i < t->machine->nodes; i++)
			find_outstanding(p, t, l, t->machine->node[i].number, outstanding);
	}
	free(medians.x);
}

json_t *pairs_json(struct pairs *p, const struct trial *t)
{
	json_t *levels, *outstanding;
	bool any = false, crowded = false;

	for (unsigned i = 0; i < p->alone; i++)
		sort(p->met_alone[i].x, p->met_alone[i].n);

	for (unsigned i = 0; i < p->players; i++)
		for (unsigned j = i + 1; j < p->players; j++) {
			size_t pair = number_of(p, i, j);

			sort(p->met[pair].x, p->met[pair].n);
			any |= p->met[pair].n > 0;
			crowded |= p->level[pair] == SAME_CPU;
		}
	if (!any)
		return NULL;
	levels = json_array();
	outstanding = json_array();
	levels_json(p, t, levels, outstanding);
	if (crowded) /* workers that share a CPU say more of each other than of it */
		json_array_clear(outstanding);
	return json_pack("{s:i, s:o, s:o, s:o, s:o}", "rounds", (int)pairs_rounds(p->players),
			 "levels", levels, "outstanding", outstanding, "crowding", crowding_json(p),
			 "cells", cells_json(p, t));
}
