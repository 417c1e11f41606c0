/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "harness/ask/value.h"
#include "harness/plan/varying.h"

static bool differ(const struct parameter *p, union value a, union value b)
{
	char one[VALUE_ROOM], other[VALUE_ROOM];

	return strcmp(value_print(p, a, one, sizeof(one)),
		      value_print(p, b, other, sizeof(other))) != 0;
}

struct varying varying_find(const struct plan *plan)
{
	const struct benchmark *b = plan->benchmark;
	const struct trial *first[MOST_PARAMETERS] = { NULL }; /* to have the parameter */
	bool lacked[MOST_PARAMETERS] = { false };
	struct varying varies = { 0 };

	for (unsigned i = 0; i < plan->trials; i++) {
		const struct trial *t = &plan->trial[i].trial, *begin = &plan->trial[0].trial;

		varies.variant |= t->variant != begin->variant;
		varies.threads |= t->threads != begin->threads;
		for (unsigned j = 0; j < b->n_parameters; j++) {
			const struct parameter *p = &b->parameters[j];

			if (!parameter_applies(b, t->variant, j))
				lacked[j] |= p->type == P_LAYOUT || p->type == P_NODE;
			else if (!first[j])
				first[j] = t;
			else
				varies.parameter[j] |= differ(p, t->value[j], first[j]->value[j]);
		}
	}
	/* a layout or node is told also if it is always the same, but some trials have none */
	for (unsigned j = 0; j < b->n_parameters; j++)
		varies.parameter[j] |= lacked[j] && first[j];
	return varies;
}
