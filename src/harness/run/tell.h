/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of trials: their lines in the record, their rows in the table, their number. */
#ifndef LOCUS_TELL_H
#define LOCUS_TELL_H

#include "harness/run/alternation.h"

/* The title of a benchmark's table, the plan at hand. */
void tell_plan(struct run *);
/* The line of the next trial that has none, and its row. */
void tell_next(struct alternation *, enum stopped);
/* Of all that have none. On all ranks. */
void tell_all(struct alternation *, enum stopped);
/* Behind the tables: what was not measured, why, and how to go on. */
void tell_end(struct run *);

#endif
