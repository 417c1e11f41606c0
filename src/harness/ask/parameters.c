/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "harness/ask/parameters.h"

unsigned parameter_count(const struct benchmark *b)
{
	unsigned n = 0;

	while (b->parameters && b->parameters[n].name)
		n++;
	assert(n <= MOST_PARAMETERS); /* tables by parameter have no more */
	return n;
}

unsigned variant_count(const struct benchmark *b)
{
	unsigned n = 0;

	while (b->variants[n].name)
		n++;
	return n;
}

bool parameter_applies(const struct benchmark *b, const struct variant *v, unsigned parameter)
{
	return !(v->unused & BIT(parameter)) && b->parameters[parameter].type != P_FOUND;
}
