/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations of a trial: memory that is prepared, verified and kept in quarantine afterwards. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "harness/sample/workers.h"
#include "harness/sample/series.h"
#include "kit/agree.h"
#include "machine/clock.h"
#include "machine/memory/arena.h"
#include "machine/topology/topology.h"
#include "machine/watchdog.h"

/* --- quarantine --- */

static void end_quarantine(struct quarantined *e)
{
	arena_close(e->arena);
	e->series->returned = true;
}

static void end_oldest(struct quarantine *h)
{
	h->bytes -= h->of[0].bytes;
	end_quarantine(&h->of[0]);
	memmove(h->of, h->of + 1, --h->n * sizeof(*h->of));
}

/* False: no memory. */
static bool has_entry(struct quarantine *h)
{
	const size_t most = h->n < h->most ? h->most : 2 * h->most + 16;
	struct quarantined *grown = most == h->most ? h->of : realloc(h->of, most * sizeof(*grown));

	if (!grown)
		return false;
	h->of = grown;
	h->most = most;
	return true;
}

void quarantine_keep(struct quarantine *h, struct series *s, struct arena *arena, double bytes)
{
	struct quarantined e = { s, arena, bytes };

	if (bytes > h->each || bytes > h->room || !has_entry(h)) {
		end_quarantine(&e);
		return;
	}
	while (h->n && h->bytes + bytes > h->room)
		end_oldest(h);
	arena_shut(arena);
	h->of[h->n++] = e;
	h->bytes += bytes;
}

void quarantine_free(struct quarantine *h)
{
	for (size_t i = 0; i < h->n; i++)
		end_quarantine(&h->of[i]);
	free(h->of);
	h->of = NULL;
	h->n = h->most = 0;
	h->bytes = 0;
}

/* --- allocation --- */

void allocation_warm(struct series *s, struct team *team)
{
	const uint64_t units = s->units;
	struct noise unused = { 0 };

	s->cold = false;
	if (!s->planned->needs.warm || roles_until(s->planned, 0) != BY_COUNT)
		return;
	s->units = s->planned->needs.warm;
	s->warming = true;
	sample_take(s, team, &unused, sample_turn(s, 0), false);
	s->warming = false;
	s->units = units;
}

/* Frees the state; its memory, too, unless it was `used` and goes into quarantine. */
static void give_back(struct series *s, bool used)
{
	struct trial *t = &s->planned->trial;

	watchdog_away("giving back the memory of");
	if (s->state && roles_ops(t)->release)
		roles_ops(t)->release(s->state);
	if (used && s->task.quarantine)
		quarantine_keep(s->task.quarantine, s, t->arena, (double)s->planned->needs.bytes);
	else
		arena_close(t->arena);
	s->returned |= used && !s->task.quarantine;
	watchdog_back();
	t->arena = NULL;
	s->state = NULL;
	s->ready = false;
}

/*
 * Keeps the reason why prepare() failed, or why the memory does not suffice. If others changed the
 * machine meanwhile, the trial is not impossible: --resume may measure it.
 */
static void note_refusal(struct series *s)
{
	const struct trial *t = &s->planned->trial;
	const char *refusal = t->arena ? arena_refusal(t->arena) : NULL,
		   *what = refusal ? refusal
			   : errno ? strerror(errno)
				   : "prepare() gave no reason: it sets errno, or calls "
				     "arena_cannot()";
	char *cause = conditions_cause(s->task.conditions, CONDITIONS_MEMORY);

	if (refusal && !cause)
		s->evidence.impossible = strdup(refusal);
	else
		s->evidence.failure = text_of("its memory could not be prepared: %s%s%s", what,
					      cause ? ": " : "", cause ? cause : "");
	free(cause);
}

static void note_misplaced(struct series *s)
{
	if (!s->evidence.moved && placements_astray(&s->evidence.placements))
		s->evidence.moved = conditions_cause(s->task.conditions, CONDITIONS_PLACES);
}

/*
 * Checked before the first touch: without enough memory, touching gets the process killed, or takes
 * pages of other nodes.
 */
static bool has_room(const struct trial *t)
{
	int64_t need[2 * t->machine->nodes];

	arena_need(t->arena, need);
	if (t->ranks)
		t->ranks->sum_host(need, sizeof(need) / sizeof(*need));
	return !arena_room(t->arena, need);
}

/* If one rank could not prepare, frees the memory on all ranks, and returns false. */
static bool all_prepared(struct series *s, bool prepared)
{
	const struct ranks *ranks = s->planned->trial.ranks;

	if (!prepared)
		note_refusal(s);
	if (!agree_any(ranks, !prepared))
		return true;
	agree_words(ranks, &s->evidence.impossible);
	agree_words(ranks, &s->evidence.failure);
	give_back(s, false);
	return false;
}

/* The plan counts only the memory that needs() declares: with more, the machine could run out. */
static bool is_as_planned(struct series *s)
{
	const size_t asked = arena_asked(s->planned->trial.arena), bytes = s->planned->needs.bytes;

	if (asked > bytes)
		s->evidence.failure =
			text_of("prepare() maps %zu bytes, and needs() says %zu", asked, bytes);
	agree_words(s->planned->trial.ranks, &s->evidence.failure);
	if (s->evidence.failure)
		give_back(s, false);
	return !s->evidence.failure;
}

static bool prepared(struct series *s)
{
	struct trial *t = &s->planned->trial;
	const struct ops *ops = roles_ops(t);

	t->arena = arena_open(t->machine);
	errno = t->arena ? 0 : errno;
	watchdog_away(TRIAL_PREPARING);
	s->state = t->arena && ops->prepare ? ops->prepare(t) : NULL;
	watchdog_back();
	return all_prepared(s, t->arena && (!ops->prepare || s->state)) && is_as_planned(s) &&
	       all_prepared(s, has_room(t));
}

/* After a refusal: once the quarantine is freed, there may be room. */
static bool prepared_alone(struct series *s)
{
	if (!agree_any(s->planned->trial.ranks, s->task.quarantine && s->task.quarantine->n))
		return false;
	watchdog_away("giving back the memory of");
	if (s->task.quarantine)
		quarantine_free(s->task.quarantine);
	watchdog_back();
	free(s->evidence.failure);
	free(s->evidence.impossible);
	s->evidence.failure = s->evidence.impossible = NULL;
	return prepared(s);
}

bool allocation_open(struct series *s, struct team *team)
{
	struct trial *t = &s->planned->trial;
	const struct ops *ops = roles_ops(t);
	double began = clock_now();

	if (s->evidence.failure || s->evidence.impossible || !sample_seat(s, team))
		return false;
	s->begun = true;
	t->allocation = s->samples.allocations;
	t->team = team;
	if (!prepared(s) && !prepared_alone(s))
		return false;
	watchdog_away(TRIAL_PREPARING);
	if (ops->enter)
		team_run(team, ops->enter, s->state);
	placements_begin(&s->evidence.placements, t->arena);
	watchdog_back();
	s->samples.allocations++;
	s->samples.fresh += !s->returned;
	s->ready = true;
	s->worked = false;
	s->cold = true;
	s->elapsed += clock_now() - began;
	return !allocation_failed(s, team);
}

void allocation_close(struct series *s, struct team *team)
{
	struct trial *t = &s->planned->trial;
	struct placement after;
	const char *wrong;
	bool placed;

	if (!s->ready)
		return;
	watchdog_away(TRIAL_VERIFYING);
	placed = placements_end(&s->evidence.placements, t->arena, &after);
	watchdog_back();
	placements_keep(&s->evidence.placements, placed ? &after : NULL);
	note_misplaced(s);
	sample_seat(s, team);
	watchdog_away(TRIAL_VERIFYING);
	wrong = s->worked && !s->evidence.failure && roles_ops(t)->verify
			? roles_ops(t)->verify(s->state, t)
			: NULL;
	watchdog_back();
	if (wrong && !s->evidence.wrong)
		s->evidence.wrong = strdup(wrong);
	agree_words(t->ranks, &s->evidence.wrong);
	give_back(s, true);
}

bool allocation_failed(struct series *s, struct team *team)
{
	if (s->evidence.failure)
		allocation_close(s, team);
	return s->evidence.failure;
}
