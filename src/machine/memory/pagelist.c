/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/memory/pagelist.h"

#include <numaif.h>

#include "base/arithmetic.h"
#include "machine/memory/mapped.h"
#include "machine/topology/topology.h"

size_t region_step(const struct region *r)
{
	return r->hugetlb ? r->granule : r->arena->machine->page;
}

size_t region_extent(const struct region *r)
{
	return round_up(r->asked, region_step(r));
}

bool page_list_next(const struct region *r, bool used, size_t *offset, struct page_list *c)
{
	size_t step = region_step(r), extent = region_extent(r);

	for (c->n = 0; c->n < MOST_PAGES && *offset < extent; *offset += step) {
		c->node[c->n] =
			machine_first_touch(r->arena->machine, region_claim(r, r->user, *offset));
		c->address[c->n] = r->base + *offset;
		c->n += !used || c->node[c->n] >= 0;
	}
	return c->n > 0;
}

int page_list_ask(struct page_list *c)
{
	return move_pages(0, c->n, c->address, NULL, c->status, 0) ? -1 : 0;
}
