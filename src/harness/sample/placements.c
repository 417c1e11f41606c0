/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "harness/sample/placements.h"
#include "kit/agree.h"

void placements_begin(struct placements *p, const struct arena *arena)
{
	if (arena_placement(arena, &p->now))
		p->now = (struct placement){ 0 };
}

static void free_kept(struct placements *p)
{
	if (p->known) {
		placement_free(&p->before);
		placement_free(&p->after);
	}
}

/* Takes over p->now and *after: keeps them if they are the worst so far, else frees them. */
static void keep_worst(struct placements *p, struct placement *after)
{
	if (p->known &&
	    p->now.misplaced + after->misplaced <= p->before.misplaced + p->after.misplaced) {
		placement_free(&p->now);
		placement_free(after);
	} else {
		free_kept(p);
		p->before = p->now;
		p->after = *after;
		p->known = true;
	}
}

bool placements_end(const struct placements *p, const struct arena *arena, struct placement *after)
{
	return p->now.pages && !arena_placement(arena, after);
}

void placements_keep(struct placements *p, struct placement *after)
{
	if (after)
		keep_worst(p, after);
	else
		placement_free(&p->now);
	p->now = (struct placement){ 0 };
}

bool placement_is_astray(const struct placement *p)
{
	return (double)p->misplaced > PLACEMENTS_MOST_ASTRAY * (double)p->pages;
}

bool placements_astray(const struct placements *p)
{
	return p->known && (placement_is_astray(&p->before) || placement_is_astray(&p->after));
}

void placements_free(struct placements *p)
{
	free_kept(p);
}

/* Sums node by node: node 1 of each host counts as node 1. */
static void sum_nodes(const struct ranks *ranks, struct placement *p)
{
	unsigned nodes = (unsigned)agree_most(ranks, p->nodes);
	uint64_t *grown = nodes > p->nodes ? realloc(p->on_node, nodes * sizeof(*grown)) : NULL;

	if (grown) {
		memset(grown + p->nodes, 0, (nodes - p->nodes) * sizeof(*grown));
		p->on_node = grown;
		p->nodes = nodes;
	}
	for (unsigned i = 0; i < nodes; i++) {
		int64_t pages = i < p->nodes ? (int64_t)p->on_node[i] : 0;

		agree_total(ranks, &pages, 1);
		if (i < p->nodes)
			p->on_node[i] = (uint64_t)pages;
	}
}

static void sum_placement(const struct ranks *ranks, struct placement *p)
{
	uint64_t *count[] = { &p->pages, &p->unmapped, &p->misplaced, &p->local,
			      &p->used,	 &p->huge,     &p->thp };

	for (size_t i = 0; i < sizeof(count) / sizeof(*count); i++)
		agree_total(ranks, (int64_t *)count[i], 1);
	sum_nodes(ranks, p);
	p->how = (unsigned)agree_most(ranks, p->how);
	agree_words(ranks, &p->why_not);
	p->page = (size_t)agree_most(ranks, (double)p->page);
	p->huge_page = (size_t)agree_most(ranks, (double)p->huge_page);
	p->huge_unknown = agree_any(ranks, p->huge_unknown);
}

void placements_sum(const struct ranks *ranks, struct placements *p)
{
	p->known = agree_any(ranks, p->known);
	if (p->known) {
		sum_placement(ranks, &p->before);
		sum_placement(ranks, &p->after);
	}
}
