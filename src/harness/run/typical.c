/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "harness/run/typical.h"

/* The typical scatter of this group's trials; keeps that of each trial for later groups. */
static double of_group(struct alternation *a)
{
	double *scatter = calloc(a->n + 1, sizeof(*scatter)), typical;

	if (!scatter)
		return 0;
	for (unsigned i = 0; i < a->n; i++) {
		scatter[i] = estimates_scatter(&a->series[i].samples);
		a->series[i].planned->scatter = isfinite(scatter[i]) ? scatter[i] : 0;
	}
	typical = estimate_typical(scatter, a->n);
	free(scatter);
	return typical;
}

/* The typical scatter of the trials that the benchmark has measured in this run. */
static double of_benchmark(const struct plan *plan)
{
	double *scatter = calloc(plan->trials + 1, sizeof(*scatter)), typical;

	if (!scatter)
		return 0;
	for (unsigned i = 0; i < plan->trials; i++)
		scatter[i] = plan->trial[i].scatter > 0 ? plan->trial[i].scatter : NAN;
	typical = estimate_typical(scatter, plan->trials);
	free(scatter);
	return typical;
}

void typical_find(struct alternation *a)
{
	double typical = of_group(a);

	if (!(typical > 0) && a->run->plans.plans)
		typical = of_benchmark(&a->run->plans.plan[a->run->plan_at]);
	for (unsigned i = 0; i < a->n; i++)
		a->series[i].samples.typical = typical;
}
