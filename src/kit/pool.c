/* SPDX-License-Identifier: Apache-2.0 */
#include "kit/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "machine/topology/topology.h"

/* Rounds up to whole pages, since a page belongs to one worker. */
static size_t whole_pages(const struct machine *m, size_t bytes, enum pages pages)
{
	static const size_t hugetlb[] = {
		[PAGES_2M] = (size_t)2 << 20, [PAGES_1G] = (size_t)1 << 30
	};
	const size_t page = pages >= PAGES_2M ? hugetlb[pages] : m->page;

	return round_up(region_takes(m, bytes, pages), page);
}

size_t pool_bytes(const struct trial *t, size_t each, enum pages pages)
{
	return t->threads * whole_pages(t->machine, each, pages);
}

struct pool *pool_open(const struct trial *t, const char *name, size_t each, enum pages pages)
{
	const size_t bytes = whole_pages(t->machine, each, pages),
		     size = sizeof(struct pool) + t->threads * sizeof(struct pool_part);
	struct region *region = region_map(t->arena, name, t->threads * bytes, pages);
	struct pool *p = region ? apart_alloc(size) : NULL;

	if (!p)
		return NULL;
	p->name = name;
	p->workers = t->threads;
	for (unsigned i = 0; i < t->threads; i++) {
		struct pool_part *part = &p->part[i];

		part->next = part->begin = (uintptr_t)region_base(region) + i * bytes;
		part->end = part->begin + bytes;
		region_home(region, i * bytes, bytes, t->place[i].node);
		region_user(region, i * bytes, bytes, t->place[i].node);
	}
	return p;
}

void pool_close(struct pool *p)
{
	free(p);
}

void pool_touch(struct pool *p, const struct worker *self)
{
	const struct pool_part *part = &p->part[self->index];

	memset((void *)part->begin, 0, part->end - part->begin);
}

void pool_reset(struct pool *p)
{
	for (unsigned i = 0; i < p->workers; i++)
		p->part[i].next = p->part[i].begin;
}

size_t pool_taken(const struct pool *p, unsigned worker)
{
	return p->part[worker].next - p->part[worker].begin;
}

void *pool_used_up(struct pool *p, struct worker *self, size_t bytes)
{
	struct pool_part *part = &p->part[self->index];

	if (self->failed)
		return NULL;
	snprintf(part->why, sizeof(part->why),
		 "%s: worker %u has %zu bytes, took %zu of them, and wanted %zu more", p->name,
		 self->index, (size_t)(part->end - part->begin), pool_taken(p, self->index), bytes);
	self->failed = part->why;
	return NULL;
}

void *trial_pieces(const struct trial *t, const char *name, unsigned first, unsigned pieces,
		   size_t bytes, bool alone)
{
	struct region *region = region_map(t->arena, name, pieces * bytes, PAGES_BASE);

	for (unsigned i = 0; region && i < pieces; i++) {
		const int node = t->place[first + i].node;

		region_home(region, i * bytes, bytes, node);
		if (alone)
			region_user(region, i * bytes, bytes, node);
	}
	return region ? region_base(region) : NULL;
}
