/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/sample/roles.h"
#include "kit/agree.h"
#include "kit/shares.h"
#include "machine/watchdog.h"
#include "base/text.h"

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

/* Threads that float are pinned, too, while memory is prepared and first touched. */
static int take_seats(const struct series *s, struct team *team, unsigned *culprit)
{
	const struct planned *p = s->planned;
	const struct trial *t = &p->trial;
	hwloc_bitmap_t within;
	int status = -1;

	if (!t->floating || !s->ready)
		return team_seat(team, t->place, t->threads, culprit);
	*culprit = 0;
	within = hwloc_bitmap_alloc();
	for (unsigned i = 0; within && i < p->cpus; i++)
		hwloc_bitmap_set(within, (unsigned)p->cpu[i]);
	if (within)
		status = team_float(team, t->place, t->threads, within, culprit);
	hwloc_bitmap_free(within);
	return status;
}

/* What sched_setaffinity() says: EINVAL of a CPU that is offline, or not in the cpuset. */
static const char *pinning_error(int error)
{
	return error == EINVAL	? "this process can't use it any more"
	       : error == EXDEV ? "it ran on another one"
				: strerror(error);
}

static void note_failure(struct series *s, unsigned culprit, int error)
{
	const struct trial *t = &s->planned->trial;
	char *cause = conditions_cause(s->conditions, CONDITIONS_CPUS);

	free(s->failure);
	s->failure = text_of(
		"thread %u could not be pinned to CPU %d: sched_setaffinity: %s%s%s", culprit,
		culprit < t->threads ? t->place[culprit].cpu : -1, pinning_error(error),
		cause ? ": " : "", cause ? cause : "");
	free(cause);
}

static bool seat(struct series *s, struct team *team)
{
	const struct trial *t = &s->planned->trial;
	unsigned culprit;
	int failed;

	watchdog_away(SERIES_PREPARING);
	failed = take_seats(s, team, &culprit);
	watchdog_back();
	if (failed) {
		note_failure(s, culprit, errno);
		return false;
	}
	for (unsigned i = 0; i < t->threads; i++)
		team_worker(team, i)->role = roles_number(t, i);
	return true;
}

bool roles_seat(struct series *s, struct team *team)
{
	bool seated = seat(s, team);

	agree_words(s->planned->trial.ranks, &s->failure);
	return seated && !s->failure;
}

/* The workers whose units count, and whose end ends the sample: those of the first role. */
unsigned roles_leading(const struct trial *t)
{
	const unsigned workers = workers_of(t, roles_of(t));

	return workers && workers < t->threads ? workers : t->threads;
}

/* What ends the work of a role. With a single role, fixed units end it instead of a deadline. */
static enum until until_of_role(const struct series *s, unsigned number)
{
	const struct trial *t = &s->planned->trial;
	const struct role *role = roles_of(t);
	const bool fixed = s->planned->needs.units && roles_count(t) == 1;

	return role[number].until == BY_DEADLINE && fixed ? BY_COUNT : role[number].until;
}

enum until roles_until(const struct series *s)
{
	return until_of_role(s, 0);
}

/* Units that a worker is to do; 0 where there are more workers than units. */
uint64_t roles_units(const struct series *s, const struct worker *w)
{
	const uint64_t units = s->warming ? 0 : s->planned->needs.units;

	if (until_of_role(s, s->pairs ? 0 : w->role) == BY_DEADLINE)
		return UINT64_MAX;
	return units ? share_size(units, w->index, roles_leading(&s->planned->trial)) : s->units;
}
