/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/ask/parameters.h"

bool parameter_applies(const struct benchmark *b, const struct variant *v, unsigned parameter)
{
	return !(v->unused & BIT(parameter)) && b->parameters[parameter].type != P_FOUND;
}
