/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of trials: their lines in the record, their rows in the table, their number. */
#ifndef LOCUS_TELL_H
#define LOCUS_TELL_H

#include "harness/run/alternation.h"

/* Ends the table before, and begins that of the current plan's benchmark. */
void tell_plan(struct run *);
/*
 * Writes the line of the next trial of the group that has none, and its row. `sync`: if it has
 * samples, waits until the disk has them.
 */
void tell_next(struct alternation *, enum stopped, bool sync);
/* The same for all trials that have no line. On all ranks. */
void tell_all(struct alternation *, enum stopped);
/* After the tables: says what was not measured, why, and how to go on. */
void tell_end(struct run *);

#endif
