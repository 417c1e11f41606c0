/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/sample/throughput.h"

#include <math.h>
#include <stdlib.h>

#include "harness/sample/estimates.h"
#include "harness/record/json.h"
#include "harness/sample/roles.h"
#include "kit/agree.h"

struct throughput {
	unsigned roles; /* 0: there is one role only */
	/* by role and sample: of all workers of the role */
	double **units, **rate;
};

struct throughput *throughput_open(const struct trial *t)
{
	const unsigned roles = roles_count(t);
	struct throughput *r = calloc(1, sizeof(*r));

	if (!r || roles < 2)
		return r;
	r->units = calloc(roles, sizeof(*r->units));
	r->rate = calloc(roles, sizeof(*r->rate));
	if (r->units && r->rate) {
		r->roles = roles;
		return r;
	}
	throughput_close(r);
	return NULL;
}

void throughput_close(struct throughput *r)
{
	if (!r)
		return;
	for (unsigned i = 0; i < r->roles; i++) {
		free(r->units[i]);
		free(r->rate[i]);
	}
	free(r->units);
	free(r->rate);
	free(r);
}

static bool grow(double **x, size_t room)
{
	double *grown = realloc(*x, room * sizeof(*grown));

	if (grown)
		*x = grown;
	return grown;
}

bool throughput_room(struct throughput *r, size_t samples)
{
	for (unsigned i = 0; i < r->roles; i++)
		if (!grow(&r->units[i], samples) || !grow(&r->rate[i], samples))
			return false;
	return true;
}

void throughput_keep(struct series *s, const struct sample *sample)
{
	const struct trial *t = &s->planned->trial;
	struct throughput *r = s->throughput;
	int64_t units[r->roles + 1];

	for (unsigned i = 0; i <= r->roles; i++)
		units[i] = 0;
	for (unsigned i = 0; r->roles && i < t->threads; i++)
		units[roles_number(t, i)] += (int64_t)team_worker(t->team, i)->done;
	if (r->roles)
		agree_total(t->ranks, units, r->roles);
	for (unsigned i = 0; i < r->roles; i++) {
		r->units[i][s->samples] = (double)units[i];
		r->rate[i][s->samples] = (double)units[i] / sample->wall;
	}
}

static json_t *role_json(const struct series *s, unsigned role)
{
	const struct trial *t = &s->planned->trial;
	const struct estimate units = estimates_values(s, s->throughput->units[role]).kept,
			      rate = estimates_values(s, s->throughput->rate[role]).kept;
	unsigned workers = 0;

	for (unsigned i = 0; i < t->threads; i++)
		workers += roles_number(t, i) == role;
	return json_pack("{s:s, s:i, s:o, s:o, s:o}", "name", roles_name(t, role), "workers",
			 (int)workers, "units", record_number(units.value), "throughput",
			 record_number(rate.value), "ci", record_interval(rate.low, rate.high));
}

json_t *throughput_json(const struct series *s)
{
	json_t *list = json_array();

	for (unsigned i = 0; s->samples && i < s->throughput->roles; i++)
		json_array_append_new(list, role_json(s, i));
	return list;
}
