/* SPDX-License-Identifier: Apache-2.0 */
/* The plans of a run, the same on all its ranks. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/message.h"
#include "base/text.h"
#include "harness/plan/plan.h"
#include "kit/agree.h"
#include "kit/random.h"

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

/* ---- the same plans on all ranks ---- */

/* The index of the P_DERIVED parameter, such as a file's length; without one, n_parameters. */
static unsigned found_parameter(const struct benchmark *b)
{
	unsigned i = 0;

	while (i < b->n_parameters && b->parameters[i].type != P_DERIVED)
		i++;
	return i;
}

static uint64_t found(const struct planned *p)
{
	const unsigned i = p ? found_parameter(p->trial.benchmark) : 0;

	return p && i < p->trial.benchmark->n_parameters ? p->trial.value[i].count : 0;
}

static uint64_t plans_hash(const struct plans *p)
{
	const struct planned *trial;
	uint64_t hash = 0;

	for (unsigned i = 0; (trial = plans_trial(p, i)); i++)
		hash = random_mix(random_mix(hash + trial->hash) + found(trial));
	return hash;
}

/* The properties of a trial that ranks compare. */
struct compared {
	uint64_t hash, found;
	char identity[1024];
};

/* How trial n (p, or NULL) differs from rank 0's; NULL: it does not. */
static char *difference_of(const struct planned *p, unsigned n, const struct compared *own,
			   const struct compared *first)
{
	if (p && own->found != first->found)
		return text_of(
			"trial %u differs from rank 0's: its file has %" PRIu64
			" %s, and not %" PRIu64 ": %.400s",
			n + 1, own->found,
			p->trial.benchmark->parameters[found_parameter(p->trial.benchmark)].name,
			first->found, own->identity);
	if (own->hash != first->hash)
		return text_of("trial %u differs from rank 0's: %.400s instead of %.400s; give "
			       "--threads and sizes, or use nodes of one kind",
			       n + 1, own->identity, first->identity);
	return NULL;
}

/* The first difference from rank 0's trials, or NULL. On all ranks. */
static char *find_difference(const struct plans *plans, const struct ranks *ranks)
{
	const unsigned most = (unsigned)agree_most(ranks, plans->trials);
	char *difference = NULL;

	for (unsigned i = 0; i < most; i++) {
		const struct planned *p = plans_trial(plans, i);
		struct compared own = { .hash = p ? p->hash : 0, .found = found(p) }, first;

		snprintf(own.identity, sizeof(own.identity), "%s", p ? p->identity : "none");
		first = own;
		agree_copy(ranks, 0, &first, sizeof(first));
		if (!difference)
			difference = difference_of(p, i, &own, &first);
	}
	return difference;
}

int plans_agree(struct plans *plans, struct setting *setting)
{
	const struct ranks *ranks = setting->ranks;
	struct planned *p;

	if (ranks && !agree_same(ranks, plans_hash(plans)) &&
	    !agree_go_on(ranks, find_difference(plans, ranks)))
		return EXIT_COMMAND_LINE;
	for (unsigned i = 0; ranks && (p = plans_trial(plans, i)); i++)
		agree_words(ranks, &p->refusal);
	setting->room = -agree_most(ranks, -plan_room(setting));
	for (unsigned i = 0; ranks && i < plans->plans; i++)
		plan_group(&plans->plan[i], setting);
	return 0;
}
