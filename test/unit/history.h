/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a history of operations on one key of a map is linearizable: whether there is an order of
 * them that a map in one thread could have had, in which an operation that ended before another
 * began comes first (Herlihy and Wing 1990). All orders are tried, after Wing and Gong (1993).
 * Linearizability is local, so each key can be looked at for itself. Knows no map.
 */
#ifndef LOCUS_HISTORY_H
#define LOCUS_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

enum history_kind { HISTORY_FIND, HISTORY_INSERT, HISTORY_UPSERT, HISTORY_REMOVE };

struct history_event {
	enum history_kind kind;
	bool there;	/* what it said: whether the key was there before */
	uint64_t value; /* what it wrote; or found, or removed, where the key was there */
	uint64_t began, ended;
};

struct history_state {
	bool there;
	uint64_t value;
};

/* Whether it could have said that; and what the map is like after it. */
static inline bool history_fits(const struct history_event *e, struct history_state *s)
{
	const bool reads = e->kind == HISTORY_FIND || e->kind == HISTORY_REMOVE;

	if (e->there != s->there || (reads && s->there && e->value != s->value))
		return false;
	if (e->kind == HISTORY_REMOVE)
		s->there = false;
	else if (e->kind == HISTORY_UPSERT || (e->kind == HISTORY_INSERT && !s->there))
		*s = (struct history_state){ true, e->value };
	return true;
}

/* The events that are not in `done`, from this state on. At most 64 events. */
static inline bool history_goes_on(const struct history_event *e, unsigned n, uint64_t done,
				   struct history_state state)
{
	uint64_t first_end = UINT64_MAX;

	for (unsigned i = 0; i < n; i++)
		if (!(done >> i & 1) && e[i].ended < first_end)
			first_end = e[i].ended;
	if (first_end == UINT64_MAX)
		return true;
	for (unsigned i = 0; i < n; i++) {
		struct history_state after = state;

		if (!(done >> i & 1) && e[i].began <= first_end && history_fits(&e[i], &after) &&
		    history_goes_on(e, n, done | UINT64_C(1) << i, after))
			return true;
	}
	return false;
}

/* The key is absent in the beginning. */
static inline bool history_linearizable(const struct history_event *e, unsigned n)
{
	return history_goes_on(e, n, 0, (struct history_state){ 0 });
}

#endif
