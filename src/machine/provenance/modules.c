/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/provenance/modules.h"

#include <stdbool.h>
#include <string.h>

static bool same(const struct module *a, const struct module *b)
{
	return a->size == b->size && a->speed == b->speed && a->configured == b->configured &&
	       !strcmp(a->type, b->type);
}

void modules_add(struct modules *found, const struct module *m)
{
	unsigned i = 0;

	found->count++;
	while (i < found->kinds && !same(&found->kind[i], m))
		i++;
	if (i == MODULES_KINDS)
		return;
	if (i == found->kinds)
		found->kind[found->kinds++] = *m;
	found->kind[i].count += 1;
}
