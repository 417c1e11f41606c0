/* SPDX-License-Identifier: Apache-2.0 */
/* In what the trials of a plan differ: for their names, and for the columns of tables. */
#ifndef LOCUS_VARYING_H
#define LOCUS_VARYING_H

#include "harness/ask/parameters.h"
#include "harness/plan/planned.h"

struct varying {
	bool parameter[MOST_PARAMETERS], variant, threads;
};

struct varying varying_find(const struct plan *);

#endif
