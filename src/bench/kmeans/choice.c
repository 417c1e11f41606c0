/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/kmeans/bounds.h"
#include "bench/kmeans/brute.h"
#include "bench/kmeans/cells.h"
#include "bench/kmeans/choice.h"
#include "bench/kmeans/workspace.h"
#include "kit/shares.h"
#include "trial.h"

/* Tried in this order by PRUNE_AUTO. */
static const struct {
	const struct method *method;
	enum prune prune; /* the option that forces it */
} methods[] = {
	{ &method_cells, PRUNE_CELLS },
	{ &method_bounds, PRUNE_BOUNDS },
	{ &method_brute, PRUNE_NONE },
};
enum { METHODS = sizeof(methods) / sizeof(*methods) };

/* The first row from `first` on that fits; METHODS: none does. */
static int first_fit(const struct problem *p, enum prune prune, int first)
{
	for (int i = first; i < METHODS; i++) {
		const struct method *m = methods[i].method;
		const bool wanted =
			prune == PRUNE_AUTO ? !m->pays || m->pays(p) : prune == methods[i].prune;

		if (wanted && m->fits(p))
			return i;
	}
	return METHODS;
}

/* Whether the rank with the most points has room, so that all ranks choose alike. */
static bool has_room(const struct problem *p, const struct choice *choice)
{
	struct problem largest = *p;

	largest.points.n = share_size(p->all, 0, ranks_of(p->ranks));
	return !p->room || workspace_bytes(&largest, choice) <= p->room;
}

/*
 * Auto skips methods that need more memory than there is. The last one needs least: if even that
 * has no room, the planner refuses the trial.
 */
struct choice choice_make(const struct problem *p, enum prune prune)
{
	struct choice choice = { NULL, NULL };

	for (int i = first_fit(p, prune, 0); i < METHODS; i = first_fit(p, prune, i + 1)) {
		choice = (struct choice){ methods[i].method, NULL };
		if (prune != PRUNE_AUTO || !choice.method->pays)
			return choice;
		for (int j = first_fit(p, prune, i ? i : 1); j < METHODS;
		     j = first_fit(p, prune, j + 1)) {
			choice.otherwise = methods[j].method;
			if (has_room(p, &choice))
				return choice;
		}
	}
	return choice;
}
