/* SPDX-License-Identifier: Apache-2.0 */
#include "kit/pieces.h"

void *pieces_map(const struct trial *t, const char *name, unsigned first, unsigned pieces,
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
