/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "harness/plan/expand.h"
#include "machine/threads/places.h"
#include "machine/topology/topology.h"

/* A word for a layout may stand for several, each of which says how many threads it has. */
static int add_layouts(struct plan *plan, const struct factors *f, union value *value,
		       unsigned layout, unsigned threads)
{
	const struct request *r = f->request;
	const char *why = NULL, *word = value[layout].text;
	unsigned n;
	char **layouts = machine_layouts(r->setting->machine, word, threads, &n, &why);
	int status = 0;

	if (!layouts && r->options->parameter[layout]) {
		status = errno == EINVAL ? EXIT_COMMAND_LINE : EXIT_IMPOSSIBLE;
		request_refuse(r, r->benchmark->parameters[layout].name, why);
		return status;
	}
	/* the layout is a default, which --threads contradicts: nobody asked for both */
	if (!layouts) {
		planned_leave_out(plan, "a layout has its own number of threads, which --threads "
					"contradicts");
		return 0;
	}
	for (unsigned i = 0; !status && i < n; i++) {
		value[layout].text = layouts[i];
		status = planned_add(plan, r,
				     &(struct point){ f->variant, value,
						      machine_layout_threads(layouts[i]),
						      layouts[i] });
	}
	free(layouts);
	return status;
}

static int add_point(struct plan *plan, const struct factors *f, union value *value,
		     unsigned threads)
{
	const struct request *r = f->request;
	unsigned layout;

	if (factors_layout(r->benchmark, f->variant, &layout))
		return add_layouts(plan, f, value, layout, threads);
	return planned_add(plan, r,
			   &(struct point){ f->variant, value,
					    threads ? threads : r->setting->machine->cores, NULL });
}

/* Odometer over the parameters that the variant has; the others keep a neutral value. */
static int multiply(struct plan *plan, const struct factors *f, unsigned threads)
{
	const struct benchmark *b = f->request->benchmark;
	const unsigned n = b->n_parameters;
	unsigned at[MOST_PARAMETERS] = { 0 }, i;
	union value value[MOST_PARAMETERS] = { 0 };
	int status;

	do {
		for (i = 0; i < n; i++)
			if (parameter_applies(b, f->variant, i))
				value[i] = f->parameter[i].value[at[i]];
		status = add_point(plan, f, value, threads);
		if (status)
			return status;
		for (i = n; i-- > 0;) {
			if (parameter_applies(b, f->variant, i) && ++at[i] < f->parameter[i].n)
				break;
			at[i] = 0;
		}
	} while (i < n); /* i wraps when the odometer does */
	return 0;
}

int expand(struct plan *plan, const struct factors *f)
{
	int status = 0;

	for (unsigned i = 0; !status && i < f->threads.n; i++)
		status = multiply(plan, f, (unsigned)f->threads.value[i].count);
	return status;
}
