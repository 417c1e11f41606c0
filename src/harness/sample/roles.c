/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/sample/roles.h"

const struct ops *roles_ops(const struct trial *t)
{
	return t->variant->ops ? t->variant->ops : &t->benchmark->ops;
}

static const struct role *roles_of(const struct trial *t)
{
	return t->variant->roles ? t->variant->roles : t->benchmark->roles;
}

unsigned roles_count(const struct trial *t)
{
	return t->variant->roles ? t->variant->n_roles : t->benchmark->n_roles;
}

/* The number of the role's workers; 0: all that are left. */
static unsigned workers_of(const struct trial *t, const struct role *role)
{
	return role->workers ? role->workers(t) : 0;
}

unsigned roles_number(const struct trial *t, unsigned worker)
{
	const struct role *role = roles_of(t);
	unsigned number = 0, end = workers_of(t, role);

	while (end && worker >= end && number + 1 < roles_count(t)) {
		const unsigned workers = workers_of(t, &role[++number]);

		end = workers ? end + workers : 0;
	}
	return number;
}

const char *roles_name(const struct trial *t, unsigned number)
{
	return roles_of(t)[number].name;
}

unsigned roles_leading(const struct trial *t)
{
	const unsigned workers = workers_of(t, roles_of(t));

	return workers && workers < t->threads ? workers : t->threads;
}

enum until roles_until(const struct planned *p, unsigned number)
{
	const struct role *role = &roles_of(&p->trial)[number];
	const bool fixed = p->needs.units && roles_count(&p->trial) == 1;

	return role->until == BY_DEADLINE && fixed ? BY_COUNT : role->until;
}
