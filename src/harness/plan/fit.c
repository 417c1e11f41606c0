/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>

#include "harness/plan/fit.h"
#include "base/text.h"
#include "machine/topology/topology.h"

size_t fit_most(const struct setting *setting)
{
	const double most = setting->most > 0 ? setting->most : (double)setting->memory.available;

	/* less what memory_beside() adds */
	return setting->memory.available == NO_LIMIT
		       ? 0
		       : (size_t)fmax(1, (most - (4 << 20)) * 256 / 257);
}

/* A node that was asked for by number may have no memory that we may use. */
static char *refuse_nodes(const struct trial *t)
{
	char lack[NODE_TEXT];

	for (unsigned i = 0; i < t->benchmark->n_parameters; i++) {
		const struct parameter *p = &t->benchmark->parameters[i];
		const bool given =
			p->type == P_NODE && parameter_applies(t->benchmark, t->variant, i);
		const struct node *node =
			given ? machine_node(t->machine, (int)t->value[i].count) : NULL;

		if (node && !machine_has_memory(t->machine, node))
			return text_of("--%s %d: its data can't lie on node %d, %s; `locus "
				       "topology` lists nodes with memory",
				       p->name, node->number, node->number,
				       node_lack(t->machine, node, lack));
	}
	return NULL;
}

static char *refuse_bytes(const struct setting *setting, size_t bytes)
{
	const uint64_t most = setting->memory.available;
	char needed[TEXT_BYTES], more[TEXT_BYTES], there[TEXT_BYTES], parts[64] = "";

	if (!bytes || bytes + memory_beside(bytes) <= most)
		return NULL;
	if (setting->memory.sharers > 1)
		snprintf(parts, sizeof(parts), ", shared by %u ranks", setting->memory.sharers);
	return text_of("it needs %s of memory and %s beside it (page tables, samples), but only %s "
		       "can be had, because of %s%s; choose a smaller size",
		       text_bytes(needed, bytes), text_bytes(more, memory_beside(bytes)),
		       text_bytes(there, most), setting->memory.what, parts);
}

char *fit_refusal(const struct setting *setting, const struct trial *t, size_t bytes)
{
	char *refusal = refuse_nodes(t);

	return refusal ? refusal : refuse_bytes(setting, bytes);
}
