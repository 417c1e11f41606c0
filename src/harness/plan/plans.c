/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "harness/plan/effort.h"
#include "harness/plan/plans.h"
#include "base/statistics.h"
#include "base/message.h"

static int make_all(struct plans *p, const struct benchmark *const *table, const struct options *o,
		    const struct setting *setting)
{
	const struct benchmark *const chosen[] = { o->benchmark, NULL };
	unsigned rows = 0;
	int status = 0;

	table = o->benchmark ? chosen : table;
	while (table[rows])
		rows++;
	p->plan = calloc(rows, sizeof(*p->plan));
	if (!p->plan) {
		message_own("%s: out of memory", o->benchmark ? o->benchmark->name : "suite");
		return EXIT_BAD;
	}
	for (unsigned i = 0; i < rows && !status; i++) {
		status = plan_make(&p->plan[p->plans], table[i], o, setting);
		if (!status && p->plan[p->plans].trials)
			p->trials += p->plan[p->plans++].trials;
	}
	return status;
}

int plans_make(struct plans *p, const struct benchmark *const *table, const struct options *o,
	       const struct setting *setting)
{
	int status = make_all(p, table, o, setting);

	if (!status && !p->plans) {
		message_own("suite: no trial is left in any benchmark");
		status = EXIT_COMMAND_LINE;
	}
	return status;
}

void plans_free(struct plans *p)
{
	for (unsigned i = 0; i < p->plans; i++)
		plan_free(&p->plan[i]);
	free(p->plan);
}

struct planned *plans_trial(const struct plans *p, unsigned n)
{
	for (unsigned i = 0; i < p->plans; n -= p->plan[i++].trials)
		if (n < p->plan[i].trials)
			return &p->plan[i].trial[n];
	return NULL;
}

unsigned plans_threads(const struct plans *p)
{
	unsigned threads = 1;

	for (unsigned i = 0; i < p->plans; i++)
		threads = p->plan[i].threads > threads ? p->plan[i].threads : threads;
	return threads;
}

/* s of one trial: for its fixed number of samples; else its budget, or the least that it needs. */
static double seconds_of(const struct planned *p, const struct options *o)
{
	if (p->repeats)
		return p->repeats * fmax(p->sample, plan_tournament(p));
	return fmax(effort_case(o), LEAST_VALUES * plan_tournament(p));
}

/* Whether the length of samples is unknown: their work is fixed, or ends by itself. */
static bool is_open(const struct planned *p)
{
	const struct trial *t = &p->trial;
	const struct role *role = t->variant->roles ? t->variant->roles : t->benchmark->roles;

	return !p->refusal && p->repeats && (p->needs.units || role->until == TO_COMPLETION);
}

static bool any_open(const struct plans *p)
{
	const struct planned *trial;

	for (unsigned i = 0; (trial = plans_trial(p, i)); i++)
		if (is_open(trial))
			return true;
	return false;
}

double plans_seconds(const struct plans *p, const struct options *o)
{
	const double time = effort_time(o), one = effort_case(o);
	const struct planned *trial;
	double sum = 0;

	for (unsigned i = 0; (trial = plans_trial(p, i)); i++)
		if (!trial->refusal)
			sum += seconds_of(trial, o);
	return time > 0 && (one <= 0 || time < sum || any_open(p)) ? time : sum;
}

const char *plans_bound(const struct plans *p, const struct options *o)
{
	return effort_time(o) > 0 ? "at most" : any_open(p) ? "at least" : "about";
}
