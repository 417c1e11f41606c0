/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/kmeans/balls.h"
#include "bench/kmeans/bounds.h"
#include "bench/kmeans/boxes.h"
#include "bench/kmeans/brute.h"
#include "bench/kmeans/cells.h"
#include "bench/kmeans/choice.h"
#include "bench/kmeans/filter.h"
#include "bench/kmeans/workspace.h"
#include "kit/shares.h"
#include "trial.h"

/* Tried in this order by PRUNE_AUTO; boxes once more where those after them don't pay. */
static const struct {
	const struct method *method;
	enum prune prune; /* the option that forces it */
} methods[] = {
	{ &method_cells, PRUNE_CELLS },	  { &method_boxes, PRUNE_BOXES },
	{ &method_balls, PRUNE_BALLS },	  { &method_boxes, PRUNE_BOXES },
	{ &method_bounds, PRUNE_BOUNDS }, { &method_filter, PRUNE_FILTER },
	{ &method_brute, PRUNE_NONE },
};
enum { METHODS = sizeof(methods) / sizeof(*methods) };
_Static_assert((int)METHODS <= (int)MOST_METHODS, "struct choice has room for all methods");

static bool is_wanted(const struct method *m, enum prune own, const struct problem *p,
		      enum prune prune)
{
	return (prune == PRUNE_AUTO ? !m->pays || m->pays(p) : prune == own) && m->fits(p);
}

/* Whether the rank with the most points has room, so that all ranks choose alike. */
static bool has_room(const struct problem *p, const struct choice *choice)
{
	struct problem largest = *p;

	largest.points.n = share_size(p->all, 0, ranks_of(p->ranks));
	return !p->room || workspace_bytes(&largest, choice) <= p->room;
}

/*
 * Auto skips methods that need more memory than there is, but not the last one: if that has no
 * room, the planner refuses the trial.
 */
struct choice choice_make(const struct problem *p, enum prune prune)
{
	struct choice choice = { { NULL } };

	for (unsigned i = 0, n = 0; i < METHODS; i++) {
		const struct method *m = methods[i].method;

		if (!is_wanted(m, methods[i].prune, p, prune) || (prune != PRUNE_AUTO && n))
			continue;
		choice.method[n] = m;
		if (prune != PRUNE_AUTO || !m->pays || has_room(p, &choice))
			n++;
		else
			choice.method[n] = NULL;
	}
	return choice;
}
