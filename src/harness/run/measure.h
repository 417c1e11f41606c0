/* SPDX-License-Identifier: Apache-2.0 */
/* The measuring of a run: benchmark after benchmark, group after group. */
#ifndef LOCUS_MEASURE_H
#define LOCUS_MEASURE_H

#include "harness/run/run.h"

/* Measures all plans of the run, each within its share of the budget. */
void measure_plans(struct run *);

#endif
