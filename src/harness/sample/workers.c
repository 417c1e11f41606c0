/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "base/statistics.h"
#include "harness/plan/plan.h"
#include "harness/sample/workers.h"
#include "kit/random.h"
#include "machine/topology/topology.h"

/* --- roles --- */

const struct ops *roles_ops(const struct trial *t)
{
	return t->variant->ops ? t->variant->ops : &t->benchmark->ops;
}

static const struct role *roles_of(const struct trial *t)
{
	return t->variant->roles ? t->variant->roles : t->benchmark->roles;
}

unsigned roles_count(const struct trial *t)
{
	return t->variant->roles ? t->variant->n_roles : t->benchmark->n_roles;
}

/* The number of the role's workers; 0: all that are left. */
static unsigned workers_of(const struct trial *t, const struct role *role)
{
	return role->workers ? role->workers(t) : 0;
}

unsigned roles_number(const struct trial *t, unsigned worker)
{
	const struct role *role = roles_of(t);
	unsigned number = 0, end = workers_of(t, role);

	while (end && worker >= end && number + 1 < roles_count(t)) {
		const unsigned workers = workers_of(t, &role[++number]);

		end = workers ? end + workers : 0;
	}
	return number;
}

const char *roles_name(const struct trial *t, unsigned number)
{
	return roles_of(t)[number].name;
}

unsigned roles_leading(const struct trial *t)
{
	const unsigned workers = workers_of(t, roles_of(t));

	return workers && workers < t->threads ? workers : t->threads;
}

enum until roles_until(const struct planned *p, unsigned number)
{
	const struct role *role = &roles_of(&p->trial)[number];
	const bool fixed = p->needs.units && roles_count(&p->trial) == 1;

	return role->until == BY_DEADLINE && fixed ? BY_COUNT : role->until;
}

/* --- pairs --- */

size_t pair_number(const struct pairs *p, unsigned a, unsigned b)
{
	return (size_t)a * (2 * p->players - a - 1) / 2 + (b - a - 1);
}

size_t pair_count(const struct pairs *p)
{
	return (size_t)p->players * (p->players - 1) / 2;
}

/*
 * Draws pairs of each level from the whole tournament, none twice. A level with few pairs takes
 * many tries.
 */
static void choose_alone(struct pairs *p, uint64_t seed)
{
	const unsigned rounds = tournament_rounds(p->players), slots = tournament_slots(p->players);
	unsigned there[LEVELS] = { 0 }, chosen[LEVELS] = { 0 }, wanted = 0, a, b;

	if (p->players < 4) /* a round has one pair, which is alone anyway */
		return;
	for (size_t i = 0; i < pair_count(p); i++)
		wanted += there[p->level[i]]++ < PAIRS_ALONE;
	for (uint64_t tries = 0; tries < 20000 && p->alone < wanted; tries++) {
		unsigned round = (unsigned)(random_mix(seed + 2 * tries) % rounds),
			 slot = (unsigned)(random_mix(seed + 2 * tries + 1) % slots), i = 0;

		while (i < p->alone && (p->alone_round[i] != round || p->alone_slot[i] != slot))
			i++;
		if (i < p->alone || !tournament_pair(p->players, round, slot, &a, &b) ||
		    chosen[p->level[pair_number(p, a, b)]] == PAIRS_ALONE)
			continue;
		chosen[p->level[pair_number(p, a, b)]]++;
		p->alone_round[p->alone] = round;
		p->alone_slot[p->alone++] = slot;
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
			p->level[pair_number(p, i, j)] = (unsigned char)machine_level(
				t->machine, t->place[i].cpu, t->place[j].cpu);
	choose_alone(p, t->seed);
	return p;
}

void pairs_close(struct pairs *p)
{
	if (!p)
		return;
	for (size_t i = 0; p->met && i < pair_count(p); i++)
		free(p->met[i].time);
	for (unsigned i = 0; i < p->alone; i++)
		free(p->met_alone[i].time);
	free(p->level);
	free(p->met);
	free(p);
}

void meetings_add(struct meetings *m, double time)
{
	if (m->n == m->room) {
		size_t room = m->room ? 2 * m->room : 64;
		double *grown = realloc(m->time, room * sizeof(*grown));

		if (!grown)
			return;
		m->time = grown;
		m->room = room;
	}
	m->time[m->n++] = time;
}

static struct meetings *alone_list(struct pairs *p, unsigned a, unsigned b)
{
	unsigned one, other;

	for (unsigned i = 0; i < p->alone; i++)
		if (tournament_pair(p->players, p->alone_round[i], p->alone_slot[i], &one,
				    &other) &&
		    one == a && other == b)
			return &p->met_alone[i];
	return NULL;
}

void pairs_add(struct pairs *p, unsigned a, unsigned b, double time, bool alone)
{
	struct meetings *l = alone ? alone_list(p, a, b) : &p->met[pair_number(p, a, b)];

	if (l && isfinite(time))
		meetings_add(l, time);
}

double pairs_batch(struct pairs *p)
{
	double sum = 0;
	size_t pairs = 0;

	for (size_t i = 0; i < pair_count(p); i++) {
		struct meetings *l = &p->met[i];

		if (l->n == l->before)
			continue;
		sum += statistics_quantile_known(l->time + l->before, l->n - l->before, 0.5);
		pairs++;
		l->before = l->n;
	}
	return pairs ? sum / (double)pairs : NAN;
}
