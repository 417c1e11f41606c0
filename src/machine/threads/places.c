/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/threads/places.h"

#include <assert.h>
#include <stdlib.h>

#include "base/text.h"
#include "base/why.h"
#include "machine/topology/topology.h"

struct place place_of(const struct cpu *cpu)
{
	assert(cpu);
	return (struct place){ .cpu = cpu->number, .node = cpu->node };
}

int machine_bind(const struct machine *m, const char *bind, unsigned n, bool oversubscribe,
		 struct place *place, const char **why)
{
	struct cpu_order order = { 0, calloc(m->cpus, sizeof(*order.cpu)) };
	int status = 0;

	if (!order.cpu)
		return why_fail(why, "out of memory");
	status = order_by(m, bind, &order, why);
	if (!status && n > order.n && !oversubscribe)
		status = why_fail(why,
				  "%u threads don't fit on %s (bind: %.100s); expected fewer "
				  "(" CPU_ORDER_OVERSUBSCRIBE ")",
				  n, text_count(order.n, "CPU").of, bind);
	for (unsigned i = 0; !status && i < n; i++)
		place[i] = place_of(order.cpu[i % order.n]);
	free(order.cpu);
	return status;
}
